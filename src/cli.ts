import { keepMemoryLow } from './transfer/memory.ts';

// A transfer is to need little memory, which has to be said before all else is loaded.
if (['export', 'import'].includes(process.argv[2] ?? '')) keepMemoryLow();
await import('./command-line.ts');
