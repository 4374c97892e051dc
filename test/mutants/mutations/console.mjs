// Faults in what people may do and see, and in the trail of it.

export const OF_THE_CONSOLE = [
  {
    name: 'everybody-operates',
    says: 'every signed-in person may do what operators may',
    caughtBy: ['src/server/console/session.judge-asker.test.ts'],
    replacements: [
      {
        file: 'src/server/console/session.ts',
        find: `person.role === 'operator' ? undefined : OPERATORS_ONLY`,
        put: 'person === undefined ? OPERATORS_ONLY : undefined',
      },
    ],
  },
  {
    name: 'confirmed-for-ever',
    says: 'a password that was given once holds for ever',
    caughtBy: ['src/server/console/session.judge-asker.test.ts'],
    replacements: [
      {
        file: 'src/server/console/session.ts',
        find: 'session.confirmedAt + CONFIRMED_MS > now',
        put: 'session.confirmedAt > 0',
      },
    ],
  },
  {
    name: 'any-csrf-token',
    says: 'a page without the token of the session may change things',
    caughtBy: ['src/server/console/session.same-site.test.ts'],
    replacements: [
      {
        file: 'src/server/console/session.ts',
        find: 'return a.length === b.length && timingSafeEqual(a, b)',
        put: 'return a.length === b.length || timingSafeEqual(a, a)',
      },
    ],
  },
  {
    name: 'requests-of-others',
    says: 'every person who knows the id of a request sees it',
    caughtBy: ['src/admin/requests.list-requests.test.ts'],
    replacements: [
      {
        file: 'src/admin/requests.ts',
        find: 'receipt === undefined || receipt.account !== account',
        put: 'receipt === undefined',
      },
    ],
  },
  {
    name: 'keys-of-others',
    says: 'every person who knows the id of a key sees and changes it',
    caughtBy: ['src/admin/keys.change-key.test.ts'],
    replacements: [
      {
        file: 'src/admin/keys.ts',
        find: ' || (of !== undefined && !isWithin(of, key))',
        put: '',
      },
    ],
  },
  {
    name: 'list-of-all-keys',
    says: 'an owner is told the keys of all accounts',
    caughtBy: ['src/db/keys.test.ts'],
    replacements: [
      {
        file: 'src/db/keys.ts',
        find: 'team === undefined ? sql`account = ',
        put: 'team === undefined ? sql`0 < ',
      },
    ],
  },
  {
    name: 'link-opens-twice',
    says: 'two who come with one link at the same moment both get in',
    caughtBy: ['src/admin/invitations.sign-up.test.ts'],
    replacements: [{ file: 'src/db/people.ts', find: '= `used_at IS NULL AND expires_at', put: '= `expires_at' }],
  },
  {
    name: 'members-see-all',
    says: 'a member sees the keys of all people of the account, and what those did',
    caughtBy: ['src/server/console/session.judge-asker.test.ts'],
    replacements: [
      {
        file: 'src/server/console/session.ts',
        find: `role === 'member' ? person.row : undefined`,
        put: 'undefined',
      },
    ],
  },
  {
    name: 'roles-count-for-nothing',
    says: 'every person of an account may do what its owner may',
    caughtBy: ['src/server/console/session.judge-asker.test.ts'],
    replacements: [{ file: 'src/server/console/session.ts', find: '!roles.includes(role)', put: 'roles.length === 0' }],
  },
  {
    name: 'suspended-acts',
    says: 'an account that is suspended may change things',
    caughtBy: ['src/server/console/session.judge-asker.test.ts'],
    replacements: [
      {
        file: 'src/server/console/session.ts',
        find: `!changes || account.status === 'active'`,
        put: `!changes || account.status !== 'closed'`,
      },
    ],
  },
  {
    name: 'wider-without-password',
    says: 'a key gets a longer life without a password',
    caughtBy: ['src/admin/keys.change-key.test.ts'],
    replacements: [
      { file: 'src/admin/widened-keys.ts', find: `    isMore(key.expires_at, change.expires_at) ||\n`, put: '' },
    ],
  },
  {
    name: 'foreign-host',
    says: 'the console answers under a foreign name',
    caughtBy: ['src/server/console/site.test.ts'],
    replacements: [
      {
        file: 'src/server/console/site.ts',
        find: 'if (isAddress(name) || options.hosts.includes(name)) {',
        put: 'if (name.length > 0) {',
      },
    ],
  },
  {
    name: 'strangers-lock-out',
    says: 'wrong passwords of strangers count against a browser that has signed in before',
    caughtBy: ['src/admin/sign-in-limits.test.ts'],
    replacements: [
      {
        file: 'src/admin/sign-in-limits.ts',
        find: 'if (who.device !== undefined) return',
        put: 'if (false) return',
      },
    ],
  },
  {
    name: 'one-stranger-locks-out',
    says: 'wrong passwords count by email alone, so that one stranger locks its owner out everywhere',
    caughtBy: ['src/admin/sign-in-limits.test.ts'],
    replacements: [
      {
        file: 'src/admin/sign-in-limits.ts',
        find: 'return [network, pair, [counters.email, digest(who.email)]]',
        put: 'return [network, [counters.pair, digest(who.email)]]',
      },
    ],
  },
  {
    name: 'tries-are-free',
    says: 'wrong passwords are not counted for a name',
    caughtBy: ['src/admin/sign-in-limits.test.ts'],
    replacements: [
      {
        file: 'src/admin/sign-in-limits.ts',
        find: 'const outcome = counter.take(key)',
        put: `const outcome = counter === counters.pair ? { kind: 'taken' } : counter.take(key)`,
      },
    ],
  },
  {
    name: 'trail-without-order',
    says: 'a row that was taken out of the audit trail is not missed',
    caughtBy: ['src/admin/audit.verify-audit.test.ts'],
    replacements: [
      {
        file: 'src/admin/audit.ts',
        find: `  row.seq === before.seq + 1 &&\n  Buffer.from(row.prev_hash).equals(before.hash) &&\n`,
        put: '',
      },
    ],
  },
  {
    name: 'act-apart-from-its-line',
    says: 'an act and its line in the trail are two steps',
    caughtBy: ['src/admin/audit.atomic.test.ts'],
    replacements: [
      {
        file: 'src/admin/audit.ts',
        find: 'await file.atomic([...alongside, ...inserts])',
        put: `await file.atomic(alongside)\n            await file.atomic(inserts)`,
      },
    ],
  },
  {
    name: 'clocks-never-change',
    says: 'the day of a change of clocks begins an hour off',
    caughtBy: ['src/admin/date-ranges.test.ts'],
    replacements: [
      {
        file: 'src/lib/time-zone.ts',
        find: 'if (before === zone.offsetMs(day + FAR_MS)) return day - before',
        put: 'if (day > 0) return day - before',
      },
    ],
  },
  {
    name: '31st-of-february',
    says: 'the 31st of February is the 3rd of March',
    caughtBy: ['src/admin/date-ranges.test.ts'],
    replacements: [
      {
        file: 'src/admin/date-ranges.ts',
        find: 'Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== day',
        put: 'Number.isNaN(at)',
      },
    ],
  },
]
