module {{go.module}}

go 1.24
