# Makes the accounts of compose.yaml when the database is made: one for the service, and one that may change tables. The image's
# entrypoint reads it, and has docker_process_sql.
docker_process_sql <<EOF
CREATE USER gateway IDENTIFIED BY '${DATABASE_PASSWORD:?}';
CREATE USER migrator IDENTIFIED BY '${MIGRATE_PASSWORD:?}';
GRANT SELECT, INSERT, UPDATE, DELETE ON content.* TO gateway;
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, REFERENCES ON content.* TO migrator;
EOF
