require 'uri'

$LOAD_PATH.unshift("#{__dir__}/client/lib", __dir__)
require 'gateway'

configuration = OpenapiClient::Configuration.new do |settings|
  address = URI(ENV.fetch('GATEWAY_URL'))
  settings.scheme = address.scheme
  settings.host = "#{address.host}:#{address.port}"
  settings.server_index = nil
  settings.access_token = ENV.fetch('GATEWAY_KEY')
end
games = OpenapiClient::GameApi.new(PatientClient.new(configuration))
title = ENV.fetch('TITLE')
3.times { games.game_create(OpenapiClient::GameCreateRequest.new(json: OpenapiClient::GameInput.new(title: title))) }

found = records({ search: title, page: 1, limit: 2 }) do |input|
  games.game_list(OpenapiClient::GameListRequest.new(json: OpenapiClient::GameListInput.new(input)))
end
found.each { |game| puts game.title }

body, headers, secret = JSON.parse(ENV.fetch('MESSAGE')).values_at('body', 'headers', 'secret')
puts unwrap_webhook(body, headers, secret)['type']
[["#{body} ", headers], [body, headers.merge('Webhook-Timestamp' => '1')], [body, {}]].each do |text, sent|
  unwrap_webhook(text, sent, secret)
rescue RuntimeError
  puts 'refused'
end
