// Faults in who gets in, what opens for whom, and where a secret may stand.

export const OF_SECRETS = [
  {
    name: 'cached-for-ever',
    says: 'a key that was revoked while it was looked up lives on',
    caughtBy: ['src/auth/callers.test.ts'],
    replacements: [{ file: 'src/auth/callers.ts', find: 'if (callers.changes === changesBefore) {', put: '{' }],
  },
  {
    name: 'look-up-of-before',
    says: 'who asks after a key was revoked is told what was looked up before',
    caughtBy: ['src/auth/callers.test.ts'],
    replacements: [{ file: 'src/auth/callers.ts', find: '    lookingUp.clear()\n', put: '' }],
  },
  {
    name: 'envelope-of-another',
    says: 'an envelope opens for every account',
    caughtBy: ['src/gateway/seals.create-seals.test.ts'],
    replacements: [
      {
        file: 'src/gateway/seals.ts',
        find: 'purpose: SealPurpose, owner: AccountId): string =>',
        put: `purpose: SealPurpose, _: AccountId, owner = ''): string =>`,
      },
    ],
  },
  {
    name: 'salt-for-all',
    says: 'accounts share the salt of their prompts',
    caughtBy: ['src/gateway/seals.cache-salts.test.ts'],
    replacements: [{ file: 'src/gateway/seals.ts', find: '.update(account)', put: `.update('')` }],
  },
  {
    name: 'session-keys-in-logs',
    says: 'keys of ours stand in the log',
    caughtBy: ['src/telemetry/scrub.test.ts'],
    replacements: [
      { file: 'src/telemetry/scrub.ts', find: '    /(mr(?:_|%5f)(?:wallet', put: '    /(mrx(?:_|%5f)(?:wallet' },
    ],
  },
  {
    name: 'metadata-with-leave',
    says: 'allow_private opens what hands out credentials',
    caughtBy: ['src/providers/address-guard.guard-address.test.ts'],
    replacements: [
      {
        file: 'src/providers/address-guard.ts',
        find: `if (metadata.check(bare, family)) return 'serves`,
        put: `if (metadata.check(bare, family)) return rules.allowPrivate ? undefined : 'serves`,
      },
    ],
  },
]
