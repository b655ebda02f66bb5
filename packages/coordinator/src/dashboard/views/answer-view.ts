import type { CommandView } from '../message.js';

export interface AnswerView {
  readonly accepted: boolean;
  readonly text: string;
}

/**
 * The instances' replies to a command: one line per rejection, one for all acceptances, one for those without a reply.
 * @param waitingFor instances that take the recorded command by themselves
 */
export function answerViews(results: CommandView['results'], waitingFor: readonly string[] = []): AnswerView[] {
  const all = Object.entries(results);
  const accepted = all.filter(([, { success }]) => success).map(([id]) => id);
  const refused = all.filter(([, { success }]) => !success);
  return [
    ...refused.map(([id, { error, errorDescription }]) => ({
      accepted: false,
      text: `✕ ${id}: ${error ?? 'refused'}. ${errorDescription ?? ''}`.trimEnd(),
    })),
    ...(accepted.length === 0 ? [] : [{ accepted: true, text: `✓ accepted: ${accepted.join(', ')}` }]),
    ...(waitingFor.length === 0 ? [] : [{ accepted: true, text: recordedText(waitingFor) }]),
  ];
}

function recordedText(waitingFor: readonly string[]): string {
  const verb = waitingFor.length === 1 ? 'takes' : 'take';
  return `◌ recorded for ${waitingFor.join(', ')}, which ${verb} it without being asked again`;
}
