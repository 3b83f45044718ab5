/**
 * A client of {{title}}: games, image posts and users. Begin with {@link {{java.package}}.{{client}}}.
 */
package {{java.package}};
