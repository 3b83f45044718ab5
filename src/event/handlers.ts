import type { Contract } from '../../contract/index.ts';
import type { Handlers } from '../auth/procedure.ts';
import { type EventContext, listEvents } from './service.ts';
import { eventsView } from './view.ts';

export const eventHandlers = (c: EventContext): Handlers<Contract['event']> => ({
  list: async (input, call) => eventsView(await listEvents(c, input, call)),
});
