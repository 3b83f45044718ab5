import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { BackupError } from './errors.ts';

/**
 * Runs a shell command about a new backup, whose path it gets as `$BACKUP_FILE` and `$1`, and passes on what it prints.
 * @throws BackupError when it fails
 */
export const runHook = async (command: string, file: string, onOutput: (text: string) => void): Promise<void> => {
  const script = `BACKUP_FILE=$1; export BACKUP_FILE; ${command}`;
  const child = spawn('sh', ['-c', script, 'sh', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const output of [child.stdout, child.stderr]) output.setEncoding('utf8').on('data', onOutput);
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (code === 0) return;
  throw new BackupError(
    `${file} is a good backup, but the command after it failed (${signal ?? `status ${code}`}): ${command}`,
  );
};
