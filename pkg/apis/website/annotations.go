package website

// AnnotationV1beta1Fields carries, in Websites of version v1alpha1 only, what
// that version cannot express: a JSON document in the words of v1beta1. It
// exists on the wire alone; conversion to the hub turns it back into fields.
const AnnotationV1beta1Fields = GroupName + "/v1beta1-fields"
