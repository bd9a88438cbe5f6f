package website

// AnnotationV1beta1Fields holds, in Websites of version v1alpha1 only, the
// fields that this version lacks: a JSON object with the field names of v1beta1.
// It is never stored: conversion to the internal version sets the fields. Only
// if it sets none of them, or cannot be read, it is kept for the strategy, which
// resets the fields or rejects the object. Without it, an update keeps them.
const AnnotationV1beta1Fields = GroupName + "/v1beta1-fields"
