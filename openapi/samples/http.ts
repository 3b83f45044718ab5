import type { Call } from './call.ts';
import { bodyOf } from './curl.ts';
import { KEY_VARIABLE, SAMPLE_URL } from './names.ts';

// Calls by the HTTP client that a language comes with, for languages without an SDK.

/** The part of a call that plain HTTP needs. */
export type HttpCall = Pick<Call, 'path' | 'needsKey' | 'json' | 'isStream'>;

const lines = (...texts: (string | false)[]): string => texts.filter((text) => text !== false).join('\n');

/** The call by PHP: a whole program. */
export const phpSample = ({ path, needsKey, json, isStream = false }: HttpCall): string =>
  lines(
    '<?php',
    '',
    `$url = '${SAMPLE_URL}${path}';`,
    "$body = <<<'JSON'",
    bodyOf(json, ''),
    'JSON;',
    '',
    "$context = stream_context_create(['http' => [",
    "    'method' => 'POST',",
    "    'header' => [",
    needsKey && `        'Authorization: Bearer ' . getenv('${KEY_VARIABLE}'),`,
    "        'Content-Type: application/json',",
    '    ],',
    "    'content' => $body,",
    "    'ignore_errors' => true,",
    ']]);',
    ...(isStream
      ? [
          "$stream = fopen($url, 'r', false, $context);",
          'while (($line = fgets($stream)) !== false) {',
          '    echo $line;',
          '}',
        ]
      : [
          '$reply = json_decode(file_get_contents($url, false, $context), true);',
          "print_r($reply['result']['data']['json'] ?? $reply['error']['json']);",
        ]),
  );

/** The call by C#: a whole program. */
export const csharpSample = ({ path, needsKey, json, isStream = false }: HttpCall): string =>
  lines(
    'using System.Text;',
    !isStream && 'using System.Text.Json.Nodes;',
    '',
    `var url = "${SAMPLE_URL}${path}";`,
    'var body = """',
    bodyOf(json, '    '),
    '    """;',
    '',
    'using var client = new HttpClient();',
    'using var request = new HttpRequestMessage(HttpMethod.Post, url);',
    needsKey && `var key = Environment.GetEnvironmentVariable("${KEY_VARIABLE}");`,
    needsKey && 'request.Headers.Authorization = new("Bearer", key);',
    'request.Content = new StringContent(body, Encoding.UTF8, "application/json");',
    ...(isStream
      ? [
          'using var response = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);',
          'using var reader = new StreamReader(await response.Content.ReadAsStreamAsync());',
          'while (await reader.ReadLineAsync() is { } line) Console.WriteLine(line);',
        ]
      : [
          'using var response = await client.SendAsync(request);',
          'var reply = JsonNode.Parse(await response.Content.ReadAsStringAsync())!;',
          'Console.WriteLine(reply["result"]?["data"]?["json"] ?? reply["error"]?["json"]);',
        ]),
  );

/** The call by Ruby: a whole program. */
export const rubySample = ({ path, needsKey, json, isStream = false }: HttpCall): string =>
  lines(
    !isStream && "require 'json'",
    "require 'net/http'",
    '',
    `uri = URI('${SAMPLE_URL}${path}')`,
    'headers = {',
    needsKey && `  'Authorization' => "Bearer #{ENV.fetch('${KEY_VARIABLE}')}",`,
    "  'Content-Type' => 'application/json'",
    '}',
    "body = <<~'JSON'",
    bodyOf(json, '  '),
    'JSON',
    '',
    ...(isStream
      ? [
          "Net::HTTP.start(uri.hostname, uri.port, use_ssl: uri.scheme == 'https') do |http|",
          '  request = Net::HTTP::Post.new(uri, headers)',
          '  request.body = body',
          '  http.request(request) { |reply| reply.read_body { |part| print part } }',
          'end',
        ]
      : [
          'reply = JSON.parse(Net::HTTP.post(uri, body, headers).body)',
          "puts JSON.pretty_generate(reply.dig('result', 'data', 'json') || reply.dig('error', 'json'))",
        ]),
  );
