// Under what names the SDKs are published: settings.json, or the file that SDK_SETTINGS names.
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installOf } from './install.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** How many revisions of the SDKs there can be of one version of the document. */
const REVISIONS = 100;

/**
 * The version of the SDKs: that of the document, whose patch number leaves room for revisions of the SDKs alone. Every
 * registry takes it, and sorts it rightly.
 *
 * @param contract the version of the document, `1.2.3`
 * @param revision a number from 0 to 99
 * @returns `1.2.300` for revision 0 of `1.2.3`
 */
export const sdkVersionOf = (contract, revision) => {
  const [major, minor, patch] = contract.split('.').map(Number);
  if (!Number.isInteger(revision) || revision < 0 || revision >= REVISIONS) {
    throw new Error(`revision must be a whole number from 0 to ${REVISIONS - 1}, and is ${revision}`);
  }
  return `${major}.${minor}.${patch * REVISIONS + revision}`;
};

/** The module with the major version that it must end with: `example.com/sdk/v2` for `2.0.0`, none for 0 and 1. */
export const goModuleOf = (module, version) => {
  const major = Number(version.split('.')[0]);
  return major < 2 ? module : `${module.replace(/\/v\d+$/, '')}/v${major}`;
};

/**
 * The settings, with `version`, that of the SDKs, `contract`, that of the document, `key.prefix`, with which API keys begin, and
 * `rust.library`, by which programs know the crate; from major version 2 on, `go.module` ends with it, as Go demands; the path of `licenseFile`, which is written from
 * where the settings are, is absolute. `install` has the line that installs each package from a gateway, and `packages` all of
 * install.mjs.
 */
export const readSettings = () => {
  const file = process.env.SDK_SETTINGS || here('settings.json');
  const settings = read(file);
  const { info, components } = read(join(process.env.SDK_DOCUMENTS || here('../'), 'openapi.json'));
  const version = sdkVersionOf(info.version, settings.revision);
  const named = {
    ...settings,
    licenseFile: resolve(dirname(file), settings.licenseFile),
    go: { ...settings.go, module: goModuleOf(settings.go.module, version) },
    rust: { ...settings.rust, library: settings.rust.crate.replaceAll('-', '_') },
    contract: info.version,
    key: { prefix: components.securitySchemes.ApiKey.bearerFormat.split('[')[0] },
    version,
  };
  const packages = installOf(named);
  const install = Object.fromEntries(Object.entries(packages).map(([language, { served }]) => [language, served]));
  return { ...named, packages, install };
};

/** The value at `go.module`. @throws Error if there is none */
export const settingAt = (settings, path) => {
  const value = path.split('.').reduce((part, name) => part?.[name], settings);
  if (value === undefined || typeof value === 'object') throw new Error(`settings.json has no ${path}`);
  return String(value);
};
