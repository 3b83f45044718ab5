package com.example.contentgateway;

import com.example.contentgateway.model.ErrorData;
import com.example.contentgateway.model.ErrorPayload;
import com.example.contentgateway.model.Issue;
import java.util.List;
import java.util.Optional;

/** A failure that the service answered. Branch on {@link #reason()}. */
public final class GatewayException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient ErrorData data;

  GatewayException(ErrorPayload payload) {
    super(payload.getMessage());
    data = payload.getData();
  }

  /** The HTTP status. */
  public int status() {
    return data.getHttpStatus();
  }

  /** The stable cause to branch on, such as {@code GAME_NOT_FOUND}. */
  public String reason() {
    return data.getReason();
  }

  /** The kind of failure, such as {@code NOT_FOUND}. */
  public String code() {
    return data.getCode();
  }

  /** Every fault of the input, when the reason is {@code VALIDATION_FAILED}; else empty. */
  public List<Issue> issues() {
    return data.getIssues() == null ? List.of() : data.getIssues();
  }

  /** What to do about it, if there is something. */
  public Optional<String> hint() {
    return Optional.ofNullable(data.getHint());
  }

  /** Finds the request in the operator's log. */
  public String requestId() {
    return data.getRequestId();
  }
}
