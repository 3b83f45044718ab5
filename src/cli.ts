import { keepHeapCapped } from './admin/transfer/memory.ts';

// A transfer is to need little memory, and so is a sandbox, whose spaces come and go. That has to be said before all else is
// loaded.
const [command = '', ...others] = process.argv.slice(2);
if (['export', 'import'].includes(command) || (command === 'serve' && others.includes('--sandbox'))) keepHeapCapped();
await import('./admin/command-line.ts');
