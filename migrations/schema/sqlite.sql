CREATE TABLE "api_keys" ("id" blob PRIMARY KEY NOT NULL, "user_id" blob NOT NULL, "key_hash" blob NOT NULL, "prefix" varchar(12) NOT NULL, "name" varchar(100) NOT NULL, "scopes" varchar(200) NOT NULL, "expires_at" datetime, "revoked_at" datetime, "last_used_at" datetime, "created_at" datetime NOT NULL, lifetime_ms integer, made_by blob, CONSTRAINT "fk_api_keys_user" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE NO ACTION);

CREATE INDEX api_keys_expires_at ON api_keys (expires_at);

CREATE UNIQUE INDEX "api_keys_hash" ON "api_keys" ("key_hash") ;

CREATE INDEX api_keys_made_by ON api_keys (made_by);

CREATE INDEX api_keys_revoked_at ON api_keys (revoked_at);

CREATE INDEX "api_keys_user" ON "api_keys" ("user_id") ;

CREATE TABLE "audit_entries" ("id" blob PRIMARY KEY NOT NULL, "actor" varchar(200) NOT NULL, "action" varchar(50) NOT NULL, "subject" varchar(300) NOT NULL, "before_act" text, "after_act" text);

CREATE TABLE "consumer_contracts" ("user_id" blob NOT NULL, "consumer" varchar(100) NOT NULL, "tag" varchar(50) NOT NULL, "contract" varchar(32) NOT NULL, "need_count" integer NOT NULL, "needs" text NOT NULL, "published_at" datetime NOT NULL, CONSTRAINT "fk_consumer_contracts_user" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, PRIMARY KEY ("user_id", "consumer", "tag"));

CREATE INDEX "consumer_contracts_tag" ON "consumer_contracts" ("tag") ;

CREATE TABLE "consumer_uses" ("consumer" varchar(100) NOT NULL, "day" varchar(10) NOT NULL, "operation" varchar(64) NOT NULL, "parts" text NOT NULL, PRIMARY KEY ("consumer", "day", "operation"));

CREATE INDEX "consumer_uses_day" ON "consumer_uses" ("day") ;

CREATE TABLE "counters" ("name" varchar(64) PRIMARY KEY NOT NULL, "n" integer NOT NULL);

CREATE TABLE "deployment" ("name" varchar(16) PRIMARY KEY NOT NULL, "value" text NOT NULL, "changed_at" datetime NOT NULL);

CREATE TABLE "event_feed" ("name" varchar(16) PRIMARY KEY NOT NULL, "last_position" integer NOT NULL, "last_id" blob NOT NULL, "removed_through" integer NOT NULL, "removed_id" blob NOT NULL, "holder" blob NOT NULL);

CREATE TABLE "event_outbox" ("seq" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "happened_at" datetime NOT NULL, "events" text NOT NULL);

CREATE TABLE "event_reactions" ("record_id" blob PRIMARY KEY NOT NULL, "type" integer NOT NULL, "happened_at" datetime NOT NULL);

CREATE TABLE "events" ("position" integer PRIMARY KEY NOT NULL, "id" blob NOT NULL, "type" integer NOT NULL, "record_id" blob NOT NULL, "slug" varchar(200), "actor_id" blob, "happened_at" datetime NOT NULL);

CREATE INDEX "events_record" ON "events" ("record_id", "type", "position") ;

CREATE INDEX "events_type" ON "events" ("type", "position") ;

CREATE TABLE "failed_calls" ("key_id" blob PRIMARY KEY NOT NULL, "updated_at" datetime NOT NULL, "calls" text NOT NULL);

CREATE INDEX "failed_calls_updated" ON "failed_calls" ("updated_at") ;

CREATE TABLE "game_favorites" ("user_id" blob NOT NULL, "game_id" blob NOT NULL, CONSTRAINT "fk_game_favorites_record" FOREIGN KEY ("game_id") REFERENCES "games" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, CONSTRAINT "fk_game_favorites_user" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, PRIMARY KEY ("user_id", "game_id"));

CREATE INDEX "game_favorites_record" ON "game_favorites" ("game_id") ;

CREATE TABLE "game_reactions" ("user_id" blob NOT NULL, "game_id" blob NOT NULL, "type" varchar(7) NOT NULL, CONSTRAINT "fk_game_reactions_record" FOREIGN KEY ("game_id") REFERENCES "games" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, CONSTRAINT "fk_game_reactions_user" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, PRIMARY KEY ("user_id", "game_id"));

CREATE INDEX "game_reactions_record" ON "game_reactions" ("game_id") ;

CREATE TABLE "game_tags" ("game_id" blob NOT NULL, "tag_id" integer NOT NULL, "position" integer NOT NULL, game_type varchar(32), CONSTRAINT "fk_game_tags_record" FOREIGN KEY ("game_id") REFERENCES "games" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, CONSTRAINT "fk_game_tags_tag" FOREIGN KEY ("tag_id") REFERENCES "tags" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, PRIMARY KEY ("game_id", "tag_id"));

CREATE INDEX "game_tags_tag" ON "game_tags" ("tag_id", "game_id") ;

CREATE INDEX game_tags_type ON game_tags (tag_id, game_type, game_id);

CREATE TABLE "games" ("id" blob PRIMARY KEY NOT NULL, "author_id" blob NOT NULL, "title" varchar(200) NOT NULL, "description" text, "view_count" integer NOT NULL DEFAULT (0), "like_count" integer NOT NULL DEFAULT (0), "dislike_count" integer NOT NULL DEFAULT (0), "favorite_count" integer NOT NULL DEFAULT (0), "search_text" text NOT NULL, "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL, "cover_url" varchar(2048), "game_type" varchar(32), "is_free" boolean NOT NULL, "version" varchar(32), "original_author" varchar(200), "extra_info" text NOT NULL, tag_ids varchar(220) NOT NULL DEFAULT '', CONSTRAINT "fk_games_author" FOREIGN KEY ("author_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE NO ACTION);

CREATE INDEX "games_author" ON "games" ("author_id", "created_at") ;

CREATE INDEX games_favorites ON games (favorite_count, created_at, id, game_type);

CREATE INDEX games_latest ON games (created_at, id, view_count, like_count, favorite_count, game_type);

CREATE INDEX games_likes ON games (like_count, created_at, id, game_type);

CREATE INDEX "games_original_author" ON "games" ("original_author", "id") ;

CREATE INDEX "games_type_latest" ON "games" ("game_type", "created_at", "id") ;

CREATE INDEX "games_type_views" ON "games" ("game_type", "view_count", "created_at", "id") ;

CREATE INDEX games_views ON games (view_count, created_at, id, game_type);

CREATE TABLE "hidden_marks" ("record_id" blob NOT NULL, "user_id" blob NOT NULL, "mark" varchar(8) NOT NULL, PRIMARY KEY ("record_id", "user_id", "mark"));

CREATE TABLE "hidden_records" ("author_id" blob NOT NULL, "record_id" blob NOT NULL, "kind" varchar(16) NOT NULL, "record" text NOT NULL, hidden_at datetime, reason varchar(500), PRIMARY KEY ("author_id", "record_id"));

CREATE UNIQUE INDEX "hidden_records_record" ON "hidden_records" ("record_id") ;

CREATE TABLE "idempotency_records" ("created_at" datetime NOT NULL, "call_hash" blob NOT NULL, "input_hash" blob NOT NULL, "answer" text NOT NULL, user_id blob, PRIMARY KEY ("created_at", "call_hash"));

CREATE UNIQUE INDEX "idempotency_records_call" ON "idempotency_records" ("call_hash") ;

CREATE TABLE "image_post_favorites" ("user_id" blob NOT NULL, "image_post_id" blob NOT NULL, CONSTRAINT "fk_image_post_favorites_record" FOREIGN KEY ("image_post_id") REFERENCES "image_posts" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, CONSTRAINT "fk_image_post_favorites_user" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, PRIMARY KEY ("user_id", "image_post_id"));

CREATE INDEX "image_post_favorites_record" ON "image_post_favorites" ("image_post_id") ;

CREATE TABLE "image_post_reactions" ("user_id" blob NOT NULL, "image_post_id" blob NOT NULL, "type" varchar(7) NOT NULL, CONSTRAINT "fk_image_post_reactions_record" FOREIGN KEY ("image_post_id") REFERENCES "image_posts" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, CONSTRAINT "fk_image_post_reactions_user" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, PRIMARY KEY ("user_id", "image_post_id"));

CREATE INDEX "image_post_reactions_record" ON "image_post_reactions" ("image_post_id") ;

CREATE TABLE "image_post_tags" ("image_post_id" blob NOT NULL, "tag_id" integer NOT NULL, "position" integer NOT NULL, CONSTRAINT "fk_image_post_tags_record" FOREIGN KEY ("image_post_id") REFERENCES "image_posts" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, CONSTRAINT "fk_image_post_tags_tag" FOREIGN KEY ("tag_id") REFERENCES "tags" ("id") ON DELETE CASCADE ON UPDATE NO ACTION, PRIMARY KEY ("image_post_id", "tag_id"));

CREATE INDEX "image_post_tags_tag" ON "image_post_tags" ("tag_id", "image_post_id") ;

CREATE TABLE "image_posts" ("id" blob PRIMARY KEY NOT NULL, "author_id" blob NOT NULL, "title" varchar(200) NOT NULL, "description" text, "view_count" integer NOT NULL DEFAULT (0), "like_count" integer NOT NULL DEFAULT (0), "dislike_count" integer NOT NULL DEFAULT (0), "favorite_count" integer NOT NULL DEFAULT (0), "search_text" text NOT NULL, "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL, "images" text NOT NULL, tag_ids varchar(220) NOT NULL DEFAULT '', image_count integer NOT NULL DEFAULT 0, more_images text, CONSTRAINT "fk_image_posts_author" FOREIGN KEY ("author_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE NO ACTION);

CREATE INDEX "image_posts_author" ON "image_posts" ("author_id", "created_at") ;

CREATE INDEX "image_posts_latest" ON "image_posts" ("created_at", "id") ;

CREATE INDEX "image_posts_views" ON "image_posts" ("view_count", "created_at", "id") ;

CREATE TABLE "instances" ("id" blob PRIMARY KEY NOT NULL, "host" varchar(200) NOT NULL, "version" varchar(100) NOT NULL, "workers" integer NOT NULL, "seen_at" datetime NOT NULL, webhook_keys varchar(200));

CREATE TABLE "invitations" ("id" blob PRIMARY KEY NOT NULL, "token_hash" blob NOT NULL, "scopes" varchar(200) NOT NULL, "created_at" datetime NOT NULL, "expires_at" datetime NOT NULL, "revoked_at" datetime, "user_id" blob, CONSTRAINT "fk_invitations_user" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE NO ACTION);

CREATE INDEX "invitations_expires_at" ON "invitations" ("expires_at") ;

CREATE UNIQUE INDEX "invitations_token_hash" ON "invitations" ("token_hash") ;

CREATE INDEX "invitations_user" ON "invitations" ("user_id") ;

CREATE TABLE "key_quotas" ("key_id" blob NOT NULL, "day" varchar(10) NOT NULL, "what" varchar(16) NOT NULL, "n" integer NOT NULL, PRIMARY KEY ("key_id", "day", "what"));

CREATE TABLE "key_uses" ("key_id" blob NOT NULL, "day" varchar(10) NOT NULL, "operation" varchar(64) NOT NULL, "n" integer NOT NULL, PRIMARY KEY ("key_id", "day", "operation"));

CREATE INDEX "key_uses_day" ON "key_uses" ("day") ;

CREATE TABLE "maintenance" ("name" varchar(16) PRIMARY KEY NOT NULL, "since" datetime NOT NULL, "retry_after" integer NOT NULL, "note" varchar(300));

CREATE TABLE "search_blocks" ("segment" integer NOT NULL, "gram" blob NOT NULL, "data" blob NOT NULL, PRIMARY KEY ("segment", "gram"));

CREATE TABLE "search_keys" ("segment" integer NOT NULL, "chunk" integer NOT NULL, "data" blob NOT NULL, PRIMARY KEY ("segment", "chunk"));

CREATE TABLE "search_kinds" ("kind" integer PRIMARY KEY NOT NULL, "generation" integer NOT NULL, "ready" boolean NOT NULL, "holder" integer NOT NULL, "held_until" integer NOT NULL);

CREATE TABLE "search_removals" ("segment" integer NOT NULL, "removal" integer NOT NULL, "docs" blob NOT NULL, PRIMARY KEY ("segment", "removal"));

CREATE TABLE "search_segments" ("id" integer PRIMARY KEY NOT NULL, "kind" integer NOT NULL, "level" integer NOT NULL, "state" integer NOT NULL, "size" integer NOT NULL, "removals" integer NOT NULL, "first_key" blob NOT NULL, "last_key" blob NOT NULL, "builder" integer NOT NULL, "touched" integer NOT NULL);

CREATE INDEX "search_segments_kind" ON "search_segments" ("kind", "state") ;

CREATE TABLE "search_tail" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "kind" integer NOT NULL, "replaces" boolean NOT NULL, "doc_key" blob NOT NULL, "text" text NOT NULL, "labels" text NOT NULL);

CREATE TABLE "search_texts" ("segment" integer PRIMARY KEY NOT NULL, "data" blob NOT NULL);

CREATE TABLE "tags" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "slug" varchar(200) NOT NULL, "name" varchar(50) NOT NULL, "game_count" integer NOT NULL DEFAULT (0), "image_post_count" integer NOT NULL DEFAULT (0), merged_into integer);

CREATE UNIQUE INDEX "tags_slug" ON "tags" ("slug") ;

CREATE TABLE "users" ("id" blob PRIMARY KEY NOT NULL, "nickname" varchar(50) NOT NULL, "bio" text, "pronouns" varchar(50), "website" varchar(2048), "location" varchar(100), "social_links" text NOT NULL, "avatar" varchar(2048), "game_count" integer NOT NULL DEFAULT (0), "image_post_count" integer NOT NULL DEFAULT (0), "search_text" text NOT NULL, "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL, suspended_at datetime, hidden_at datetime);

CREATE TABLE "webhook_challenges" ("id" blob PRIMARY KEY NOT NULL, "unanswered" integer NOT NULL, "free_at" datetime NOT NULL);

CREATE INDEX "webhook_challenges_swept" ON "webhook_challenges" ("free_at") ;

CREATE TABLE "webhook_deliveries" ("id" blob PRIMARY KEY NOT NULL, "webhook_id" blob NOT NULL, "position" integer NOT NULL, "event_id" blob NOT NULL, "type" integer NOT NULL, "record_id" blob NOT NULL, "slug" varchar(200), "actor_id" blob, "happened_at" datetime NOT NULL, "state" varchar(10) NOT NULL, "attempts" integer NOT NULL, "next_at" datetime NOT NULL, "answered_at" datetime, "status" integer, "answer" varchar(200), CONSTRAINT "fk_webhook_deliveries_webhook" FOREIGN KEY ("webhook_id") REFERENCES "webhooks" ("id") ON DELETE CASCADE ON UPDATE NO ACTION);

CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries" ("webhook_id", "state", "next_at") ;

CREATE INDEX "webhook_deliveries_record" ON "webhook_deliveries" ("webhook_id", "record_id", "state", "position") ;

CREATE INDEX "webhook_deliveries_swept" ON "webhook_deliveries" ("state", "happened_at") ;

CREATE TABLE "webhooks" ("id" blob PRIMARY KEY NOT NULL, "user_id" blob NOT NULL, "url" varchar(2048) NOT NULL, "secret" varchar(100) NOT NULL, "old_secret" varchar(100), "old_secret_until" datetime, "types" text, "record_id" varchar(200), "state" varchar(10) NOT NULL, "reason" varchar(300), "attempts" integer NOT NULL, "failing_since" datetime, "position" integer NOT NULL, "position_id" blob NOT NULL, "next_at" datetime NOT NULL, "lease_until" datetime NOT NULL, "holder" blob NOT NULL, "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL, generation integer NOT NULL DEFAULT 0, older_secrets text, CONSTRAINT "fk_webhooks_user" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE CASCADE ON UPDATE NO ACTION);

CREATE INDEX "webhooks_due" ON "webhooks" ("state", "next_at") ;

CREATE INDEX "webhooks_user" ON "webhooks" ("user_id") ;
