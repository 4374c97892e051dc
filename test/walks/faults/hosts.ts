/** The only name that resolves in these walks. */
export const TRUSTLESS_HOST = 'untrusted.example'
