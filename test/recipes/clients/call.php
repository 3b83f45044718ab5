<?php
require 'GuzzleHttp/autoload.php';
spl_autoload_register(function ($class) {
    $file = __DIR__ . '/client/lib/' . strtr(substr($class, strlen('OpenAPI\Client\\')), '\\', '/') . '.php';
    if (is_file($file)) require $file;
});
require 'gateway.php';

use OpenAPI\Client\Api\GameApi;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model\{GameCreateRequest, GameInput, GameListInput, GameListRequest};

$configuration = (new Configuration())->setHost(getenv('GATEWAY_URL'))->setAccessToken(getenv('GATEWAY_KEY'));
$games = new GameApi(patientClient(), $configuration);
$title = getenv('TITLE');
// The setter knows the pattern of titles.
$game = (new GameInput())->setTitle("$title 星の伝説");
try {
    $game->setTitle("\u{202e}$title");
    echo "a title that turns the direction of writing\n";
} catch (InvalidArgumentException $error) {
    $game->setTitle($title);
}
for ($count = 0; $count < 3; $count++) $games->gameCreate(new GameCreateRequest(['json' => $game]));

$list = fn (array $input) => $games->gameList(new GameListRequest(['json' => new GameListInput($input)]));
foreach (records($list, ['search' => $title, 'page' => 1, 'limit' => 2]) as $game) echo $game->getTitle(), "\n";

['body' => $body, 'headers' => $headers, 'secret' => $secret] = json_decode(getenv('MESSAGE'), true);
echo unwrapWebhook($body, $headers, $secret)->type, "\n";
foreach ([["$body ", $headers], [$body, ['Webhook-Timestamp' => '1'] + $headers], [$body, []]] as [$text, $sent]) {
    try {
        unwrapWebhook($text, $sent, $secret);
    } catch (Exception $error) {
        echo "refused\n";
    }
}
