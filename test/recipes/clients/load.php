<?php
// Loads every class of a client.
require 'GuzzleHttp/autoload.php';
spl_autoload_register(function ($class) {
    $file = 'client/lib/' . strtr(substr($class, strlen('OpenAPI\Client\\')), '\\', '/') . '.php';
    if (is_file($file)) require_once $file;
});
$files = new RecursiveDirectoryIterator('client/lib', FilesystemIterator::SKIP_DOTS);
foreach (new RecursiveIteratorIterator($files) as $file) require_once $file;
