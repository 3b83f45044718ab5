/**
 * A client of the content gateway: games, image posts and users. Begin with {@link {{java.package}}.ContentGateway}.
 */
package {{java.package}};
