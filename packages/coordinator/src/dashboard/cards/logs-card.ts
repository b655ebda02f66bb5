import type { FleetLogRecord } from '@convoy/api/contract/log-record';
import type { FleetApi } from '../page/fleet-api.js';
import { byId, field, make, setList, setText } from '../page/dom.js';
import { logView } from '../views/log-view.js';

/** Records on the page; `convoy logs` has more. */
const shown = 50;

/** The last warnings and errors in the logs of all processes, newest first. */
export class LogsCard {
  constructor(private readonly api: FleetApi) {}

  async refresh(): Promise<void> {
    const { logs } = await this.api.read<{ logs: FleetLogRecord[] }>(`/api/v1/logs?limit=${shown}`);
    const card = byId('logs');
    card.hidden = logs.length === 0;
    setText(byId('log-count'), logs.length === 0 ? '' : String(logs.length));
    setList(field(card, 'list'), logs.toReversed().map(logView), {
      key: ({ id }) => id,
      create: ({ at, tone, level, from, event, text }) =>
        make(
          'li',
          { 'data-tone': tone },
          make('p', {}, make('strong', {}, `${tone === 'bad' ? '✕' : '▲'} ${event}`), ` ${level} · ${from} · ${at}`),
          make('p', {}, text),
        ),
      update: () => undefined,
    });
  }
}
