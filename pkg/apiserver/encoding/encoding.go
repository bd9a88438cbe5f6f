// Package encoding encodes Websites in less time than the encoders of k8s.io/apiserver, to the same
// bytes.
//
// More than half of a Website are its managed fields, which are JSON already. encoding/json
// parses them again for each response, twice. Here they are inserted into what encoding/json
// makes of the rest, after a check that is faster. Lists, as JSON and as protobuf, are in addition
// converted object by object, and what they encode is kept for the next list.
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
	protobuf runtime.Encoder
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
			n.protobuf = info.Serializer
		}
		n.infos = append(n.infos, info)
	}
	return n
}

// SupportedMediaTypes returns those of the serializer underneath.
func (n *negotiated) SupportedMediaTypes() []runtime.SerializerInfo { return n.infos }

// EncoderForVersion returns an encoder that also converts.
func (n *negotiated) EncoderForVersion(encoder runtime.Encoder, version runtime.GroupVersioner) runtime.Encoder {
	converting := n.NegotiatedSerializer.EncoderForVersion(encoder, version)
	if _, ours := encoder.(jsonSerializer); ours {
		return tableEncoder{Encoder: jsonListEncoder{Encoder: converting, lists: lists{version, n.cache}}, json: encoder}
	}
	if encoder == n.pretty {
		return tableEncoder{Encoder: converting, json: encoder}
	}
	if allocating, ok := converting.(runtime.EncoderWithAllocator); ok && encoder == n.protobuf {
		return protobufListEncoder{EncoderWithAllocator: allocating, lists: lists{version, n.cache}}
	}
	return converting
}
