package access

import (
	"crypto/sha1" //nolint:gosec // As in users.go.
	"encoding/base64"
	"strings"
	"testing"
)

func TestUsers(t *testing.T) {
	const (
		sha  = "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="
		ssha = "{SSHA}c2FsdGVkYW5kaGFzaGVkd2l0aHNhbHRzYWx0"
		md5  = "$apr1$abcdefgh$0123456789ABCDEFGHIJ./"
	)
	line := func(text string) secret { return secret{HtpasswdKey: []byte(text)} }
	userOf := func(username, password string) secret {
		return secret{UsernameKey: []byte(username), PasswordKey: []byte(password)}
	}
	for name, test := range map[string]struct {
		secret secret
		// want are the users; empty if the Secret is invalid.
		want string
		// because is part of the error.
		because string
	}{
		"user and password": {secret: userOf("reader", "secret"), want: "reader"},
		"with line feeds":   {secret: userOf("reader\n", "secret\r\n"), want: "reader"},
		"other letters":     {secret: userOf("Jörg Müller", "пароль with spaces"), want: "Jörg Müller"},
		"no user name": {secret: secret{PasswordKey: []byte("secret")},
			because: "username: the user name is empty"},
		"no password":              {secret: secret{UsernameKey: []byte("reader")}, because: "password is empty"},
		"a line feed as password":  {secret: userOf("reader", "\n"), because: "password is empty"},
		"two lines of a password":  {secret: userOf("reader", "a\nb"), because: "control characters"},
		"NUL in the password":      {secret: userOf("reader", "a\x00b"), because: "control characters"},
		"password of another code": {secret: userOf("reader", "\xff"), because: "not UTF-8"},
		"long password": {secret: userOf("reader", strings.Repeat("a", maxPassword+1)),
			because: "more than 1024 bytes"},
		"colon in the user name": {secret: userOf("a:b", "secret"), because: "contains ':'"},
		"comment as user name":   {secret: userOf("#a", "secret"), because: "begins with '#'"},
		"two lines as user name": {secret: userOf("a\nb", "secret"), because: "control characters"},
		"long user name": {secret: userOf(strings.Repeat("a", maxUsername+1), "secret"),
			because: "more than 255 bytes"},
		"lines": {secret: line("# readers\n\na:" + sha + "\r\nb:" + ssha + ":a comment\nc:" + md5),
			want: "a b c"},
		"lines before other keys": {secret: secret{HtpasswdKey: []byte("a:" + sha), UsernameKey: []byte("x"),
			PasswordKey: []byte("y")}, want: "a"},
		"no lines": {secret: line(""), because: "no users"},
		"comments": {secret: line("# nobody\n"), because: "no users"},
		"no hash": {secret: line("a:" + sha + "\nb:\n"),
			because: "line 2: the user name must be followed by"},
		"no colon":           {secret: line("a"), because: "line 1: the user name must be followed by"},
		"no user":            {secret: line(":" + sha), because: "line 1: the user name is empty"},
		"control characters": {secret: line("a\tb:" + sha), because: "line 1: the user name has control characters"},
		"one user twice": {secret: line("a:" + sha + "\nb:" + sha + "\na:" + ssha),
			because: "line 3: the user name is that of line 1"},
		"plain": {secret: line("a:{PLAIN}secret"), because: "hash"},
		"bcrypt": {secret: line("a:$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC"),
			because: "hash"},
		"crypt":                      {secret: line("a:rl0uE0Ih6rJcw"), because: "hash"},
		"SHA-512":                    {secret: line("a:$6$salt$" + strings.Repeat("a", 86)), because: "hash"},
		"SHA too short":              {secret: line("a:{SHA}AAAA"), because: "hash"},
		"SSHA without salt":          {secret: line("a:{SSHA}" + strings.TrimPrefix(sha, "{SHA}")), because: "hash"},
		"SHA that is not canonical":  {secret: line("a:" + strings.Replace(sha, "g=", "h=", 1)), because: "hash"},
		"apr1 without salt":          {secret: line("a:$apr1$$0123456789ABCDEFGHIJ./"), because: "hash"},
		"apr1 with something behind": {secret: line("a:" + md5 + "x"), because: "hash"},
		"too large":                  {secret: line(strings.Repeat("#", maxHtpasswd+1)), because: "more than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			users, err := test.secret.users()
			if test.because != "" {
				if err == nil || !strings.Contains(err.Error(), test.because) || users != nil {
					t.Errorf("users() = %q, %v, want an error with %q", users, err, test.because)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for line := range strings.Lines(string(users)) {
				name, hashed, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
				names = append(names, name)
				if !isHash(hashed) {
					t.Errorf("user %s has the hash %q", name, hashed)
				}
			}
			if got := strings.Join(names, " "); got != test.want {
				t.Errorf("the users are %q, want %q", got, test.want)
			}
		})
	}
}

// TestHash: the hash follows from the password and its own salt.
func TestHash(t *testing.T) {
	hashed := hash("secret")
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(hashed, saltedSHA))
	if err != nil || len(decoded) != sha1.Size+saltLength {
		t.Fatalf("hash() = %q, %v", hashed, err)
	}
	sum := sha1.Sum(append([]byte("secret"), decoded[sha1.Size:]...)) //nolint:gosec
	if string(sum[:]) != string(decoded[:sha1.Size]) {
		t.Errorf("%q is not the hash of the password", hashed)
	}
	if hash("secret") == hashed {
		t.Error("two hashes have one salt")
	}
}
