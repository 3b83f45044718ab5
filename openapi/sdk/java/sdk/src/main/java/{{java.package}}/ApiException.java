package {{java.package}};

import {{java.package}}.model.Issue;
import java.net.http.HttpHeaders;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** A failure that the service answered. Branch on its type, or on {@link #reason()}. */
public class ApiException extends GatewayException {
  private static final long serialVersionUID = 1L;
  private static final int ISSUES_SHOWN = 10;

  /** The HTTP status. */
  private final int status;
  /** What Retry-After asks for, or null. */
  private final Duration retryAfter;
  private final transient Failure failure;
  private final transient HttpHeaders headers;

  ApiException(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    super(attempt, textOf(attempt, status, headers, failure, retryAfter), null);
    this.status = status;
    this.headers = headers;
    this.failure = failure;
    this.retryAfter = retryAfter;
  }

  static ApiException of(Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    return switch (status) {
      case 400 -> new BadRequestException(attempt, status, headers, failure, retryAfter);
      case 401 -> new AuthenticationException(attempt, status, headers, failure, retryAfter);
      case 403 -> new PermissionDeniedException(attempt, status, headers, failure, retryAfter);
      case 404 -> new NotFoundException(attempt, status, headers, failure, retryAfter);
      case 409 -> new ConflictException(attempt, status, headers, failure, retryAfter);
      case 413 -> new PayloadTooLargeException(attempt, status, headers, failure, retryAfter);
      case 422 -> new UnprocessableException(attempt, status, headers, failure, retryAfter);
      case 429 -> new RateLimitException(attempt, status, headers, failure, retryAfter);
      default ->
          status >= 500
              ? new ServerException(attempt, status, headers, failure, retryAfter)
              : new ApiException(attempt, status, headers, failure, retryAfter);
    };
  }

  /**
   * The HTTP status.
   *
   * @return 400 or more
   */
  public int status() {
    return status;
  }

  /**
   * The stable cause to branch on, such as {@code GAME_NOT_FOUND}.
   *
   * @return the reason, absent where something before the service answered
   */
  public Optional<String> reason() {
    return Optional.ofNullable(failure.reason());
  }

  /**
   * The kind of failure, such as {@code NOT_FOUND}.
   *
   * @return the code, absent where something before the service answered
   */
  public Optional<String> code() {
    return Optional.ofNullable(failure.code());
  }

  /**
   * What the service says, without what {@link #getMessage()} adds.
   *
   * @return the message, absent where something before the service answered
   */
  public Optional<String> serviceMessage() {
    return Optional.ofNullable(failure.message());
  }

  /**
   * Every fault of the input, when the reason is {@code VALIDATION_FAILED}.
   *
   * @return the faults, else none
   */
  public List<Issue> issues() {
    return failure.issues();
  }

  /**
   * What to do about it.
   *
   * @return the hint, if there is one
   */
  public Optional<String> hint() {
    return Optional.ofNullable(failure.hint());
  }

  /**
   * The page about the reason.
   *
   * @return its address, if the service names one
   */
  public Optional<String> docs() {
    return Optional.ofNullable(failure.docs());
  }

  /**
   * Finds the request in the operator's log.
   *
   * @return the request's id, if the reply has one
   */
  public Optional<String> requestId() {
    return Optional.ofNullable(failure.requestId());
  }

  /**
   * After what time the service wants to be asked again, by {@code Retry-After}.
   *
   * @return the time, if the reply names one
   */
  public Optional<Duration> retryAfter() {
    return Optional.ofNullable(retryAfter);
  }

  /**
   * The headers of the reply.
   *
   * @return the headers
   */
  public HttpHeaders headers() {
    return headers;
  }

  private static String textOf(
      Attempt attempt, int status, HttpHeaders headers, Failure failure, Duration retryAfter) {
    String head = "%s: %d ".formatted(attempt.operation(), status);
    String end = Texts.retry(retryAfter) + Texts.tail(attempt, failure.requestId());
    if (failure.reason() == null) {
      String type = Texts.mediaType(headers).orElse("no content type");
      return head + "without the gateway's error envelope (" + type + ")." + Texts.isItOne(attempt) + end;
    }
    String said = head + failure.reason() + ": " + failure.message();
    return said + textOf(failure.issues()) + hintOf(attempt, failure) + end;
  }

  /** The service's hint, unless the library knows better what its caller can do. */
  private static String hintOf(Attempt attempt, Failure failure) {
    boolean lacksKey = "KEY_MISSING".equals(failure.reason()) && !attempt.hasKey();
    String hint = lacksKey ? "Give apiKey, or set {{environment}}_API_KEY." : failure.hint();
    return hint == null ? "" : " Hint: " + hint;
  }

  private static String textOf(List<Issue> issues) {
    if (issues.isEmpty()) return "";
    String shown = issues.stream().limit(ISSUES_SHOWN).map(ApiException::textOf).collect(Collectors.joining("; "));
    int more = issues.size() - ISSUES_SHOWN;
    return " Issues: " + shown + (more > 0 ? "; and " + more + " more" : "") + ".";
  }

  private static String textOf(Issue issue) {
    return (issue.getPath().isEmpty() ? "(input)" : issue.getPath()) + ": " + issue.getMessage();
  }
}
