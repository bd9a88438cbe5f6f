package encoding

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// negotiated encodes Websites and Tables of them as JSON, large Websites also for YAML, and lists of them as protobuf,
// in this package, and all else as the serializer underneath.
type negotiated struct {
	runtime.NegotiatedSerializer
	infos    []runtime.SerializerInfo
	pretty   runtime.Encoder
	protobuf runtime.EncoderWithAllocator
	cache    *cache
}

// NewNegotiatedSerializer returns codecs with encoders of its own for Websites as JSON that is
// not indented, and for lists of them as protobuf.
func NewNegotiatedSerializer(codecs runtime.NegotiatedSerializer) runtime.NegotiatedSerializer {
	n := &negotiated{NegotiatedSerializer: codecs, cache: newCache(maxCached)}
	asJSON, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	for _, info := range codecs.SupportedMediaTypes() {
		switch info.MediaType {
		case runtime.ContentTypeJSON:
			n.pretty = info.PrettySerializer
			info.Serializer = jsonSerializer{info.Serializer}
			stream := *info.StreamSerializer
			stream.Serializer = jsonSerializer{stream.Serializer}
			info.StreamSerializer = &stream
		case runtime.ContentTypeYAML:
			info.Serializer = yamlSerializer{info.Serializer, jsonSerializer{asJSON.Serializer}}
		case runtime.ContentTypeProtobuf:
			n.protobuf, _ = info.Serializer.(runtime.EncoderWithAllocator)
		}
		n.infos = append(n.infos, info)
	}
	return n
}

// SupportedMediaTypes returns the media types of the serializer underneath.
func (n *negotiated) SupportedMediaTypes() []runtime.SerializerInfo { return n.infos }

// EncoderForVersion returns an encoder that also converts.
func (n *negotiated) EncoderForVersion(encoder runtime.Encoder, version runtime.GroupVersioner) runtime.Encoder {
	converting, lists := n.NegotiatedSerializer.EncoderForVersion(encoder, version), lists{version, n.cache}
	switch json, ours := encoder.(jsonSerializer); {
	case ours:
		return tableEncoder{Encoder: jsonListEncoder{converting, lists}, json: json}
	case encoder == n.pretty:
		return tableEncoder{Encoder: converting, json: encoder}
	case encoder == n.protobuf:
		if allocating, ok := converting.(runtime.EncoderWithAllocator); ok {
			return protobufListEncoder{allocating, n.protobuf, lists}
		}
	}
	return converting
}
