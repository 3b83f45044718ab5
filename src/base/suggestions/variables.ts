import { closestMatch } from 'leven';
import { aliasesOf, plain, sorted } from './nearest.ts';

/** The shortest name that is compared, and the shortest in which two letters may be wrong. */
const LEAST_LENGTH = 4;
const LONG_LENGTH = 9;
/** Variables that Kubernetes and Docker set for neighbouring services, such as a service named `redis`. */
const SERVICE_LINK = /_(SERVICE_(HOST|PORT)|PORT_\d+_(TCP|UDP))|^[A-Z]+_PORT$/;

/** OpenTelemetry's variables apply to all programs; some of their names resemble names of this service. */
const TELEMETRY = /^OTEL_/;
const OTHER_TELEMETRY = /^OTEL_(BLRP|EXPORTER_OTLP_(LOGS|METRICS|PROFILES)|LOGS|METRICS?)_/;

const aliases = Object.entries(aliasesOf('settings'));

/** The number of letters that may be wrong in a name. A short name may differ only in length. */
const slips = ({ length }: string): number => (length <= LEAST_LENGTH ? 0 : length < LONG_LENGTH ? 1 : 2);

/** The setting that an unknown variable most likely means; `byPlain` holds the settings by their plain forms. */
const meantBy = (name: string, byPlain: ReadonlyMap<string, string>): string | undefined => {
  const sought = plain(name);
  if (sought.length < LEAST_LENGTH) return undefined;
  const names = [...byPlain.keys()];
  const maxDistance = slips(sought);
  const found =
    [sought, plain(aliases.find(([, words]) => words.includes(sought))?.[0] ?? '')].find((one) => byPlain.has(one)) ??
    names.find((one) => sorted(one) === sorted(sought)) ??
    (maxDistance > 0 ? closestMatch(sought, names, { maxDistance }) : undefined);
  return found === undefined ? undefined : byPlain.get(found);
};

/** The settings that begin with the same word, if several do: `DATABASE_URL` and `DATABASE_READ_URL`. */
const familyOf = (name: string, settings: readonly string[]): readonly string[] => {
  const [first = ''] = name.split('_');
  const family = settings.filter((setting) => setting.startsWith(`${first}_`));
  const isOthers = SERVICE_LINK.test(name) || TELEMETRY.test(name);
  return name.includes('_') && family.length > 1 && !isOthers ? family : [];
};

/** A variable that is set but not read. */
export interface StrayVariable {
  variable: string;
  /** A sentence for the operator, which begins with the name. It never holds the value. */
  message: string;
}

/** The variables that resemble settings but are misspelled. */
export const strayVariables = (names: readonly string[], settings: readonly string[]): StrayVariable[] => {
  const byPlain = new Map(settings.map((setting) => [plain(setting), setting]));
  return names
    .filter((name) => !settings.includes(name) && !OTHER_TELEMETRY.test(name))
    .flatMap((variable) => {
      const meant = meantBy(variable, byPlain);
      if (meant !== undefined) return { variable, message: `${variable} is not a setting: did you mean ${meant}?` };
      const family = familyOf(variable, settings);
      return family.length === 0
        ? []
        : { variable, message: `${variable} is not a setting, and is ignored; there are ${family.join(', ')}` };
    });
};
