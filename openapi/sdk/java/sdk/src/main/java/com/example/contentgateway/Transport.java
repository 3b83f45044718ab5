package com.example.contentgateway;

import com.example.contentgateway.model.ErrorResponse;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import org.openapitools.jackson.nullable.JsonNullableModule;

/** Puts parameters into their envelope, and takes the output out of its own. */
final class Transport {
  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .addModules(new JavaTimeModule(), new JsonNullableModule())
          .serializationInclusion(JsonInclude.Include.NON_NULL)
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .build();

  private final String baseUrl;
  private final String apiKey;
  private final HttpClient client;
  private final Duration timeout;

  Transport(String baseUrl, String apiKey, HttpClient client, Duration timeout) {
    this.baseUrl = baseUrl.replaceFirst("/$", "");
    this.apiKey = apiKey;
    this.client = client;
    this.timeout = timeout;
  }

  /**
   * Calls a procedure.
   *
   * @param input the parameters, or null for none
   * @param idempotencyKey what a repetition is known by, or null
   */
  <T> T call(String path, Object input, String idempotencyKey, Class<T> output) {
    try {
      HttpRequest request = request(path, input, idempotencyKey);
      HttpResponse<byte[]> response = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
      if (response.statusCode() != 200) throw failure(response);
      return JSON.treeToValue(JSON.readTree(response.body()).at("/result/data/json"), output);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new UncheckedIOException(new InterruptedIOException(error.getMessage()));
    }
  }

  private HttpRequest request(String path, Object input, String idempotencyKey) throws JsonProcessingException {
    byte[] body = JSON.writeValueAsBytes(input == null ? Map.of() : Map.of("json", input));
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(baseUrl + path))
            .timeout(timeout)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofByteArray(body));
    if (apiKey != null) request.header("Authorization", "Bearer " + apiKey);
    if (idempotencyKey != null) request.header("Idempotency-Key", idempotencyKey);
    return request.build();
  }

  private static RuntimeException failure(HttpResponse<byte[]> response) throws IOException {
    try {
      return new GatewayException(JSON.readValue(response.body(), ErrorResponse.class).getError().getJson());
    } catch (JsonProcessingException | NullPointerException error) {
      throw new IOException(
          "Status %d without the error envelope: is %s the gateway?".formatted(response.statusCode(), response.uri()));
    }
  }
}
