# Loads every file of a client.
$LOAD_PATH.unshift('client/lib')
Dir['./client/lib/**/*.rb'].each { |file| require file }
