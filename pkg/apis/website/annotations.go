package website

// AnnotationCarriedFields holds, in Websites of version v1alpha1 only, the fields
// that this version lacks: a JSON object with the field names of v1beta1. It is
// never stored: conversion to the internal version sets the fields. Only if it
// sets none of them, or has unreadable members, it is kept for the strategy,
// which resets the fields, drops the members or rejects the object. Without it,
// an update keeps the fields.
const AnnotationCarriedFields = GroupName + "/fields-of-other-versions"
