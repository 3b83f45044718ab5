// Jest runs a setup once per path, hence a file per engine.
export { startServerOf as default } from './start.ts';
