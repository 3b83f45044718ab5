import { authorizePlugin } from './authorize.js';
import { filterPlugin } from './filter.js';
import { mendAddress } from './address.js';
import { keepInTab } from './key-storage.js';
import { labelsPlugin } from './labels.js';
import { layoutPlugin } from './layout.js';
import { navigationPlugin } from './navigation.js';
import { repliesPlugin } from './replies.js';
import { resolverPlugin } from './resolver.js';
import { samplesPlugin } from './samples.js';
import { followScheme } from './scheme.js';
import { servedPlugin } from './served.js';
import { snippetsPlugin } from './snippets.js';
import { summaryPlugin } from './summary.js';

keepInTab();
mendAddress();
followScheme();

// `swagger-ui-init.js` starts Swagger UI when all has loaded, with the plugins that it finds by this name.
window.SwaggerUIStandalonePreset = [
  resolverPlugin,
  servedPlugin,
  filterPlugin,
  navigationPlugin,
  layoutPlugin,
  summaryPlugin,
  samplesPlugin,
  snippetsPlugin,
  repliesPlugin,
  authorizePlugin,
  labelsPlugin,
];
