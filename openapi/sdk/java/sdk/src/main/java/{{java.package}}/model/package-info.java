/** What the operations of the content gateway take and answer. */
package {{java.package}}.model;
