package com.example.contentgateway;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ServerSocketFactory;
import javax.net.ssl.SSLServerSocketFactory;

/** A server, or a proxy, that notes the heads of requests. */
final class Listener {
  /** What it does once it has the head and the body of a request. */
  interface Answer {
    void give(String head, Socket socket) throws IOException;
  }

  private static final String JSON = "{\"result\":{\"data\":{\"json\":{\"id\":\"g1\"}}}}";

  final Collection<String> heads = new ConcurrentLinkedQueue<>();
  final AtomicInteger connections = new AtomicInteger();
  private final ServerSocket server;
  private final Answer answer;

  private Listener(ServerSocketFactory factory, Answer answer) throws IOException {
    server = factory.createServerSocket(0, 50, InetAddress.getLoopbackAddress());
    this.answer = answer;
    aside(this::accept);
  }

  /** One that answers an output, over TLS or not. */
  static Listener gateway(boolean secure) throws IOException {
    var factory = secure ? SSLServerSocketFactory.getDefault() : ServerSocketFactory.getDefault();
    return new Listener(factory, (head, socket) -> write(socket, "200 OK", JSON));
  }

  /** One that answers in its own way. */
  static Listener answering(Answer answer) throws IOException {
    return new Listener(ServerSocketFactory.getDefault(), answer);
  }

  /** One that answers as a gateway does, and opens tunnels to another one. */
  static Listener proxy(Listener secure) throws IOException {
    return answering(
        (head, socket) -> {
          if (!head.startsWith("CONNECT")) {
            write(socket, "200 OK", JSON);
            return;
          }
          var inner = new Socket(InetAddress.getLoopbackAddress(), secure.port());
          socket.getOutputStream().write("HTTP/1.1 200 Connection Established\r\n\r\n".getBytes(StandardCharsets.UTF_8));
          aside(() -> inner.getInputStream().transferTo(socket.getOutputStream()));
          socket.getInputStream().transferTo(inner.getOutputStream());
        });
  }

  int port() {
    return server.getLocalPort();
  }

  String host() {
    return "127.0.0.1:" + port();
  }

  static void write(Socket socket, String status, String body) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    String head = "HTTP/1.1 " + status + "\r\nContent-Type: application/json\r\nContent-Length: " + bytes.length + "\r\n\r\n";
    OutputStream output = socket.getOutputStream();
    output.write(head.getBytes(StandardCharsets.UTF_8));
    output.write(bytes);
    output.flush();
  }

  private void accept() throws IOException {
    while (true) {
      Socket socket = server.accept();
      connections.incrementAndGet();
      aside(() -> serve(socket));
    }
  }

  private void serve(Socket socket) throws IOException {
    try (socket) {
      for (String head = headFrom(socket); !head.isEmpty(); head = headFrom(socket)) {
        heads.add(head);
        var length = head.lines().filter(line -> line.startsWith("content-length: ")).findFirst();
        if (length.isPresent()) socket.getInputStream().readNBytes(Integer.parseInt(length.get().substring(16)));
        answer.give(head, socket);
      }
    }
  }

  /** The head of a request, its header names in lower case; empty at the end. */
  private static String headFrom(Socket socket) throws IOException {
    InputStream input = socket.getInputStream();
    var head = new ByteArrayOutputStream();
    while (!head.toString(StandardCharsets.UTF_8).endsWith("\r\n\r\n")) {
      int next = input.read();
      if (next < 0) return "";
      head.write(next);
    }
    String text = head.toString(StandardCharsets.UTF_8).strip();
    var lines = text.lines().map(line -> line.contains(": ") ? lowerName(line) : line).toList();
    return String.join("\n", lines);
  }

  private static String lowerName(String line) {
    int colon = line.indexOf(':');
    return line.substring(0, colon).toLowerCase() + line.substring(colon);
  }

  private interface Work {
    void run() throws IOException;
  }

  private static void aside(Work work) {
    var thread =
        new Thread(
            () -> {
              try {
                work.run();
              } catch (IOException | UncheckedIOException gone) {
                // The other side has left.
              }
            });
    thread.setDaemon(true);
    thread.start();
  }
}
