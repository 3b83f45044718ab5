/**
 * @engines mariadb
 * @tier fault
 * @needs go galera
 */
import { test } from '@jest/globals';
import { expectAllowed } from './judged.ts';

test('a history on a cluster with two writers, whose nodes fail, is one that the promises allow', () =>
  expectAllowed('galera-waiting'));
