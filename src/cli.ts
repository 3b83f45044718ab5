#!/usr/bin/env node
import { keepHeapCapped } from './admin/transfer/memory.ts';

// Transfers and sandboxes, whose workspaces come and go, run with little memory. The cap works only before all else is
// loaded.
const [command = '', ...others] = process.argv.slice(2);
if (['export', 'import'].includes(command) || (command === 'serve' && others.includes('--sandbox'))) keepHeapCapped();
await import('./admin/command-line.ts');
