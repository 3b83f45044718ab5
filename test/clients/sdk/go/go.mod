module scenario

go 1.24

require example.com/contentgateway v0.0.0

replace example.com/contentgateway => ../../../../build/sdk/go
