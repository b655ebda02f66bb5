import { mergeSettings } from '@convoy/api/configuration/setting-sources';

/** Flags that give the token of a service. */
export interface TokenOptions {
  token?: string;
  tokenFile?: string;
}

/**
 * The token from flags or the environment, itself or by the file that contains it.
 * @throws ConvoyError `invalidConfiguration`
 */
export function tokenOf({ token, tokenFile }: TokenOptions): string | undefined {
  const { values } = mergeSettings(
    { env: process.env, flags: { token, tokenFile } },
    { variables: { token: 'CONVOY_TOKEN' }, kinds: {} },
  );
  return values['token'] as string | undefined;
}
