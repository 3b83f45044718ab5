module example.com/contentgateway

go 1.24
