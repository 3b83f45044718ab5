CREATE TABLE `api_keys` (
  `id` binary(16) NOT NULL,
  `user_id` binary(16) NOT NULL,
  `key_hash` binary(32) NOT NULL,
  `prefix` varchar(12) NOT NULL,
  `name` varchar(100) NOT NULL,
  `scopes` varchar(200) NOT NULL,
  `expires_at` datetime(3) DEFAULT NULL,
  `revoked_at` datetime(3) DEFAULT NULL,
  `last_used_at` datetime(3) DEFAULT NULL,
  `created_at` datetime(3) NOT NULL,
  `lifetime_ms` bigint(20) DEFAULT NULL,
  `made_by` binary(16) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `api_keys_hash` (`key_hash`),
  KEY `api_keys_user` (`user_id`),
  KEY `api_keys_revoked_at` (`revoked_at`),
  KEY `api_keys_expires_at` (`expires_at`),
  KEY `api_keys_made_by` (`made_by`),
  CONSTRAINT `fk_api_keys_user` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `audit_entries` (
  `id` binary(16) NOT NULL,
  `actor` varchar(200) NOT NULL,
  `action` varchar(50) NOT NULL,
  `subject` varchar(300) NOT NULL,
  `before_act` mediumtext DEFAULT NULL,
  `after_act` mediumtext DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `consumer_contracts` (
  `user_id` binary(16) NOT NULL,
  `consumer` varchar(100) NOT NULL,
  `tag` varchar(50) NOT NULL,
  `contract` varchar(32) NOT NULL,
  `need_count` int(10) unsigned NOT NULL,
  `needs` mediumtext NOT NULL,
  `published_at` datetime(3) NOT NULL,
  PRIMARY KEY (`user_id`,`consumer`,`tag`),
  KEY `consumer_contracts_tag` (`tag`),
  CONSTRAINT `fk_consumer_contracts_user` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `consumer_uses` (
  `consumer` varchar(100) NOT NULL,
  `day` varchar(10) NOT NULL,
  `operation` varchar(64) NOT NULL,
  `parts` mediumtext NOT NULL,
  PRIMARY KEY (`consumer`,`day`,`operation`),
  KEY `consumer_uses_day` (`day`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `counters` (
  `name` varchar(64) NOT NULL,
  `n` int(10) unsigned NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `deployment` (
  `name` varchar(16) NOT NULL,
  `value` mediumtext NOT NULL,
  `changed_at` datetime(3) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `event_feed` (
  `name` varchar(16) NOT NULL,
  `last_position` bigint(20) NOT NULL,
  `last_id` binary(16) NOT NULL,
  `removed_through` bigint(20) NOT NULL,
  `removed_id` binary(16) NOT NULL,
  `holder` binary(16) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `event_outbox` (
  `seq` bigint(20) NOT NULL AUTO_INCREMENT,
  `happened_at` datetime(3) NOT NULL,
  `events` mediumtext NOT NULL,
  PRIMARY KEY (`seq`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `event_reactions` (
  `record_id` binary(16) NOT NULL,
  `type` smallint(6) NOT NULL,
  `happened_at` datetime(3) NOT NULL,
  PRIMARY KEY (`record_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `events` (
  `position` bigint(20) NOT NULL,
  `id` binary(16) NOT NULL,
  `type` smallint(6) NOT NULL,
  `record_id` binary(16) NOT NULL,
  `slug` varchar(200) DEFAULT NULL,
  `actor_id` binary(16) DEFAULT NULL,
  `happened_at` datetime(3) NOT NULL,
  PRIMARY KEY (`position`),
  KEY `events_type` (`type`,`position`),
  KEY `events_record` (`record_id`,`type`,`position`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `failed_calls` (
  `key_id` binary(16) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  `calls` mediumtext NOT NULL,
  PRIMARY KEY (`key_id`),
  KEY `failed_calls_updated` (`updated_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `game_favorites` (
  `user_id` binary(16) NOT NULL,
  `game_id` binary(16) NOT NULL,
  PRIMARY KEY (`user_id`,`game_id`),
  KEY `game_favorites_record` (`game_id`),
  CONSTRAINT `fk_game_favorites_record` FOREIGN KEY (`game_id`) REFERENCES `games` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION,
  CONSTRAINT `fk_game_favorites_user` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `game_reactions` (
  `user_id` binary(16) NOT NULL,
  `game_id` binary(16) NOT NULL,
  `type` varchar(7) NOT NULL,
  PRIMARY KEY (`user_id`,`game_id`),
  KEY `game_reactions_record` (`game_id`),
  CONSTRAINT `fk_game_reactions_record` FOREIGN KEY (`game_id`) REFERENCES `games` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION,
  CONSTRAINT `fk_game_reactions_user` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `game_tags` (
  `game_id` binary(16) NOT NULL,
  `tag_id` int(11) NOT NULL,
  `position` smallint(6) NOT NULL,
  `game_type` varchar(32) DEFAULT NULL,
  PRIMARY KEY (`game_id`,`tag_id`),
  KEY `game_tags_tag` (`tag_id`,`game_id`),
  KEY `game_tags_type` (`tag_id`,`game_type`,`game_id`),
  CONSTRAINT `fk_game_tags_record` FOREIGN KEY (`game_id`) REFERENCES `games` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION,
  CONSTRAINT `fk_game_tags_tag` FOREIGN KEY (`tag_id`) REFERENCES `tags` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `games` (
  `id` binary(16) NOT NULL,
  `author_id` binary(16) NOT NULL,
  `title` varchar(200) NOT NULL,
  `description` mediumtext DEFAULT NULL,
  `view_count` int(10) unsigned NOT NULL DEFAULT 0,
  `like_count` int(10) unsigned NOT NULL DEFAULT 0,
  `dislike_count` int(10) unsigned NOT NULL DEFAULT 0,
  `favorite_count` int(10) unsigned NOT NULL DEFAULT 0,
  `search_text` mediumtext NOT NULL,
  `created_at` datetime(3) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  `cover_url` varchar(2048) DEFAULT NULL,
  `game_type` varchar(32) DEFAULT NULL,
  `is_free` tinyint(1) NOT NULL,
  `version` varchar(32) DEFAULT NULL,
  `original_author` varchar(200) DEFAULT NULL,
  `extra_info` mediumtext NOT NULL,
  `tag_ids` varchar(220) NOT NULL DEFAULT '',
  PRIMARY KEY (`id`),
  KEY `games_type_latest` (`game_type`,`created_at`,`id`),
  KEY `games_type_views` (`game_type`,`view_count`,`created_at`,`id`),
  KEY `games_author` (`author_id`,`created_at`),
  KEY `games_original_author` (`original_author`,`id`),
  KEY `games_latest` (`created_at`,`id`,`view_count`,`like_count`,`favorite_count`,`game_type`),
  KEY `games_views` (`view_count`,`created_at`,`id`,`game_type`),
  KEY `games_likes` (`like_count`,`created_at`,`id`,`game_type`),
  KEY `games_favorites` (`favorite_count`,`created_at`,`id`,`game_type`),
  CONSTRAINT `fk_games_author` FOREIGN KEY (`author_id`) REFERENCES `users` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `hidden_marks` (
  `record_id` binary(16) NOT NULL,
  `user_id` binary(16) NOT NULL,
  `mark` varchar(8) NOT NULL,
  PRIMARY KEY (`record_id`,`user_id`,`mark`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `hidden_records` (
  `author_id` binary(16) NOT NULL,
  `record_id` binary(16) NOT NULL,
  `kind` varchar(16) NOT NULL,
  `record` mediumtext NOT NULL,
  `hidden_at` datetime(3) DEFAULT NULL,
  `reason` varchar(500) DEFAULT NULL,
  PRIMARY KEY (`author_id`,`record_id`),
  UNIQUE KEY `hidden_records_record` (`record_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `idempotency_records` (
  `created_at` datetime(3) NOT NULL,
  `call_hash` binary(32) NOT NULL,
  `input_hash` binary(32) NOT NULL,
  `answer` mediumtext NOT NULL,
  `user_id` binary(16) DEFAULT NULL,
  PRIMARY KEY (`created_at`,`call_hash`),
  UNIQUE KEY `idempotency_records_call` (`call_hash`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `image_post_favorites` (
  `user_id` binary(16) NOT NULL,
  `image_post_id` binary(16) NOT NULL,
  PRIMARY KEY (`user_id`,`image_post_id`),
  KEY `image_post_favorites_record` (`image_post_id`),
  CONSTRAINT `fk_image_post_favorites_record` FOREIGN KEY (`image_post_id`) REFERENCES `image_posts` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION,
  CONSTRAINT `fk_image_post_favorites_user` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `image_post_reactions` (
  `user_id` binary(16) NOT NULL,
  `image_post_id` binary(16) NOT NULL,
  `type` varchar(7) NOT NULL,
  PRIMARY KEY (`user_id`,`image_post_id`),
  KEY `image_post_reactions_record` (`image_post_id`),
  CONSTRAINT `fk_image_post_reactions_record` FOREIGN KEY (`image_post_id`) REFERENCES `image_posts` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION,
  CONSTRAINT `fk_image_post_reactions_user` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `image_post_tags` (
  `image_post_id` binary(16) NOT NULL,
  `tag_id` int(11) NOT NULL,
  `position` smallint(6) NOT NULL,
  PRIMARY KEY (`image_post_id`,`tag_id`),
  KEY `image_post_tags_tag` (`tag_id`,`image_post_id`),
  CONSTRAINT `fk_image_post_tags_record` FOREIGN KEY (`image_post_id`) REFERENCES `image_posts` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION,
  CONSTRAINT `fk_image_post_tags_tag` FOREIGN KEY (`tag_id`) REFERENCES `tags` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `image_posts` (
  `id` binary(16) NOT NULL,
  `author_id` binary(16) NOT NULL,
  `title` varchar(200) NOT NULL,
  `description` mediumtext DEFAULT NULL,
  `view_count` int(10) unsigned NOT NULL DEFAULT 0,
  `like_count` int(10) unsigned NOT NULL DEFAULT 0,
  `dislike_count` int(10) unsigned NOT NULL DEFAULT 0,
  `favorite_count` int(10) unsigned NOT NULL DEFAULT 0,
  `search_text` mediumtext NOT NULL,
  `created_at` datetime(3) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  `images` mediumtext NOT NULL,
  `tag_ids` varchar(220) NOT NULL DEFAULT '',
  `image_count` int(10) unsigned NOT NULL DEFAULT 0,
  `more_images` mediumtext DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `image_posts_latest` (`created_at`,`id`),
  KEY `image_posts_views` (`view_count`,`created_at`,`id`),
  KEY `image_posts_author` (`author_id`,`created_at`),
  CONSTRAINT `fk_image_posts_author` FOREIGN KEY (`author_id`) REFERENCES `users` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `instances` (
  `id` binary(16) NOT NULL,
  `host` varchar(200) NOT NULL,
  `version` varchar(100) NOT NULL,
  `workers` int(10) unsigned NOT NULL,
  `seen_at` datetime(3) NOT NULL,
  `webhook_keys` varchar(200) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `invitations` (
  `id` binary(16) NOT NULL,
  `token_hash` binary(32) NOT NULL,
  `scopes` varchar(200) NOT NULL,
  `created_at` datetime(3) NOT NULL,
  `expires_at` datetime(3) NOT NULL,
  `revoked_at` datetime(3) DEFAULT NULL,
  `user_id` binary(16) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `invitations_token_hash` (`token_hash`),
  KEY `invitations_expires_at` (`expires_at`),
  KEY `invitations_user` (`user_id`),
  CONSTRAINT `fk_invitations_user` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `key_quotas` (
  `key_id` binary(16) NOT NULL,
  `day` varchar(10) NOT NULL,
  `what` varchar(16) NOT NULL,
  `n` int(10) unsigned NOT NULL,
  PRIMARY KEY (`key_id`,`day`,`what`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `key_uses` (
  `key_id` binary(16) NOT NULL,
  `day` varchar(10) NOT NULL,
  `operation` varchar(64) NOT NULL,
  `n` int(10) unsigned NOT NULL,
  PRIMARY KEY (`key_id`,`day`,`operation`),
  KEY `key_uses_day` (`day`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `maintenance` (
  `name` varchar(16) NOT NULL,
  `since` datetime(3) NOT NULL,
  `retry_after` int(10) unsigned NOT NULL,
  `note` varchar(300) DEFAULT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `search_blocks` (
  `segment` bigint(20) NOT NULL,
  `gram` varbinary(255) NOT NULL,
  `data` mediumblob NOT NULL,
  PRIMARY KEY (`segment`,`gram`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `search_keys` (
  `segment` bigint(20) NOT NULL,
  `chunk` int(10) unsigned NOT NULL,
  `data` mediumblob NOT NULL,
  PRIMARY KEY (`segment`,`chunk`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `search_kinds` (
  `kind` smallint(6) NOT NULL,
  `generation` bigint(20) NOT NULL,
  `ready` tinyint(1) NOT NULL,
  `holder` bigint(20) NOT NULL,
  `held_until` bigint(20) NOT NULL,
  PRIMARY KEY (`kind`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `search_removals` (
  `segment` bigint(20) NOT NULL,
  `removal` int(10) unsigned NOT NULL,
  `docs` mediumblob NOT NULL,
  PRIMARY KEY (`segment`,`removal`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `search_segments` (
  `id` bigint(20) NOT NULL,
  `kind` smallint(6) NOT NULL,
  `level` smallint(6) NOT NULL,
  `state` smallint(6) NOT NULL,
  `size` int(10) unsigned NOT NULL,
  `removals` int(10) unsigned NOT NULL,
  `first_key` binary(22) NOT NULL,
  `last_key` binary(22) NOT NULL,
  `builder` bigint(20) NOT NULL,
  `touched` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `search_segments_kind` (`kind`,`state`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `search_tail` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `kind` smallint(6) NOT NULL,
  `replaces` tinyint(1) NOT NULL,
  `doc_key` binary(22) NOT NULL,
  `text` mediumtext NOT NULL,
  `labels` mediumtext NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `search_texts` (
  `segment` bigint(20) NOT NULL,
  `data` mediumblob NOT NULL,
  PRIMARY KEY (`segment`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `tags` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `slug` varchar(200) NOT NULL,
  `name` varchar(50) NOT NULL,
  `game_count` int(10) unsigned NOT NULL DEFAULT 0,
  `image_post_count` int(10) unsigned NOT NULL DEFAULT 0,
  `merged_into` int(11) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `tags_slug` (`slug`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `users` (
  `id` binary(16) NOT NULL,
  `nickname` varchar(50) NOT NULL,
  `bio` mediumtext DEFAULT NULL,
  `pronouns` varchar(50) DEFAULT NULL,
  `website` varchar(2048) DEFAULT NULL,
  `location` varchar(100) DEFAULT NULL,
  `social_links` mediumtext NOT NULL,
  `avatar` varchar(2048) DEFAULT NULL,
  `game_count` int(10) unsigned NOT NULL DEFAULT 0,
  `image_post_count` int(10) unsigned NOT NULL DEFAULT 0,
  `search_text` mediumtext NOT NULL,
  `created_at` datetime(3) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  `suspended_at` datetime(3) DEFAULT NULL,
  `hidden_at` datetime(3) DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `webhook_challenges` (
  `id` binary(16) NOT NULL,
  `unanswered` int(10) unsigned NOT NULL,
  `free_at` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `webhook_challenges_swept` (`free_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `webhook_deliveries` (
  `id` binary(16) NOT NULL,
  `webhook_id` binary(16) NOT NULL,
  `position` bigint(20) NOT NULL,
  `event_id` binary(16) NOT NULL,
  `type` smallint(6) NOT NULL,
  `record_id` binary(16) NOT NULL,
  `slug` varchar(200) DEFAULT NULL,
  `actor_id` binary(16) DEFAULT NULL,
  `happened_at` datetime(3) NOT NULL,
  `state` varchar(10) NOT NULL,
  `attempts` smallint(6) NOT NULL,
  `next_at` datetime(3) NOT NULL,
  `answered_at` datetime(3) DEFAULT NULL,
  `status` smallint(6) DEFAULT NULL,
  `answer` varchar(200) DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `webhook_deliveries_due` (`webhook_id`,`state`,`next_at`),
  KEY `webhook_deliveries_record` (`webhook_id`,`record_id`,`state`,`position`),
  KEY `webhook_deliveries_swept` (`state`,`happened_at`),
  CONSTRAINT `fk_webhook_deliveries_webhook` FOREIGN KEY (`webhook_id`) REFERENCES `webhooks` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `webhooks` (
  `id` binary(16) NOT NULL,
  `user_id` binary(16) NOT NULL,
  `url` varchar(2048) NOT NULL,
  `secret` varchar(100) NOT NULL,
  `old_secret` varchar(100) DEFAULT NULL,
  `old_secret_until` datetime(3) DEFAULT NULL,
  `types` mediumtext DEFAULT NULL,
  `record_id` varchar(200) DEFAULT NULL,
  `state` varchar(10) NOT NULL,
  `reason` varchar(300) DEFAULT NULL,
  `attempts` smallint(6) NOT NULL,
  `failing_since` datetime(3) DEFAULT NULL,
  `position` bigint(20) NOT NULL,
  `position_id` binary(16) NOT NULL,
  `next_at` datetime(3) NOT NULL,
  `lease_until` datetime(3) NOT NULL,
  `holder` binary(16) NOT NULL,
  `created_at` datetime(3) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  `generation` int(10) unsigned NOT NULL DEFAULT 0,
  `older_secrets` mediumtext DEFAULT NULL,
  PRIMARY KEY (`id`),
  KEY `webhooks_due` (`state`,`next_at`),
  KEY `webhooks_user` (`user_id`),
  CONSTRAINT `fk_webhooks_user` FOREIGN KEY (`user_id`) REFERENCES `users` (`id`) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
