/** What the operations of {{title}} take and answer. */
package {{java.package}}.model;
