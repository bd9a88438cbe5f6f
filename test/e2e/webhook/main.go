// Command webhook is an admission webhook in a pod, as platform teams run it: it denies
// Websites by their names.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func main() {
	cert, key := flag.String("tls-cert-file", "", "the serving certificate"),
		flag.String("tls-private-key-file", "", "its key")
	flag.Parse()
	http.HandleFunc("/", review)
	log.Fatal(http.ListenAndServeTLS(":8443", *cert, *key, nil))
}

func review(w http.ResponseWriter, r *http.Request) {
	var about admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&about); err != nil || about.Request == nil {
		http.Error(w, "the body is no AdmissionReview", http.StatusBadRequest)
		return
	}
	about.Response = &admissionv1.AdmissionResponse{UID: about.Request.UID, Allowed: true}
	if strings.HasPrefix(about.Request.Name, "forbidden") {
		about.Response.Allowed, about.Response.Result = false, &metav1.Status{Message: "forbidden by a pod"}
	}
	about.Request = nil
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(about); err != nil {
		log.Print(err)
	}
}
