// Faults of everything but money: which lane is asked, who is let in, what is sealed, what a stream says. Each as a piece of the source
// replaced by another, with the suites that must see it.

export const MUTANTS_OF_THE_REST = [
  {
    name: 'higher-number-first',
    says: 'lanes of lower priority are tried first',
    caughtBy: ['src/routing/plan-lanes.test.ts'],
    replacements: [
      {
        file: 'src/routing/plan-lanes.ts',
        find: 'a.lane.priority - b.lane.priority',
        put: 'b.lane.priority - a.lane.priority',
      },
    ],
  },
  {
    name: 'conversation-leaves-its-lane',
    says: 'the lane that a conversation is on is not tried first',
    caughtBy: ['src/routing/plan-lanes.test.ts'],
    replacements: [
      {
        file: 'src/routing/plan-lanes.ts',
        find: 'lane.origin === origin ? 0 : 1',
        put: 'lane.origin === origin ? 1 : 0',
      },
    ],
  },
  {
    name: 'many-try-at-once',
    says: 'a lane that comes back is tried by all who ask, not by one',
    caughtBy: ['src/routing/breaker.test.ts'],
    replacements: [
      {
        file: 'src/routing/breaker.ts',
        find: `this.#now < aside.until || (state.kind === 'tried' && state.by !== undefined)`,
        put: 'this.#now < aside.until',
      },
    ],
  },
  {
    name: 'credential-counts-for-one-lane',
    says: 'a credential that is refused puts one lane aside, not all that use it',
    caughtBy: ['src/routing/lane-health.test.ts'],
    replacements: [
      { file: 'src/routing/lane-health.ts', find: `(verdict.of === 'lane' ? lane : credential)`, put: 'lane' },
    ],
  },
  {
    name: 'doubt-is-forgotten',
    says: 'after an answer that may be billed any number of lanes is asked',
    caughtBy: ['src/turn/lane/run-lanes.test.ts'],
    replacements: [
      {
        file: 'src/turn/lane/run-lanes.ts',
        find: 'if (fate.mayBeBilled) triesLeft = Math.min(triesLeft, ATTEMPTS_AFTER_DOUBT_MAX)',
        put: '',
      },
    ],
  },
  {
    name: 'sticks-for-ever',
    says: 'a conversation goes back to its lane after days',
    caughtBy: ['src/routing/sticky-lanes.test.ts'],
    replacements: [
      {
        file: 'src/routing/sticky-lanes.ts',
        find: 'stay !== undefined && ticks() - stay.at < LIFE_MICROS',
        put: 'stay !== undefined',
      },
    ],
  },
  {
    name: 'own-rate-with-the-others-burst',
    says: 'a debt of the past is paid before it was made',
    caughtBy: ['src/lib/gcra.test.ts'],
    replacements: [
      {
        file: 'src/lib/gcra.ts',
        find: 'Math.max(reachedAt, ticks) + costDelta * microsPerUnit(rule)',
        put: 'reachedAt + costDelta * microsPerUnit(rule)',
      },
    ],
  },
  {
    name: 'ipv6-by-address',
    says: 'each address of an IPv6 network has a rate of its own',
    caughtBy: ['src/limits/address-rates.test.ts'],
    replacements: [
      {
        file: 'src/limits/address-rates.ts',
        find: 'const network = networkOf(address)',
        put: 'const network = address',
      },
    ],
  },
  {
    name: 'loosest-limit-told',
    says: 'of several limits the one with most left is told',
    caughtBy: ['src/limits/limit-headers.test.ts'],
    replacements: [
      {
        file: 'src/limits/limit-headers.ts',
        find: 'standing.remaining < found.remaining',
        put: 'standing.remaining > found.remaining',
      },
    ],
  },
  {
    name: 'limit-shared-by-accounts',
    says: 'accounts share the limit of an account and a model',
    caughtBy: ['src/limits/limits-for-turn.test.ts'],
    replacements: [{ file: 'src/limits/limits-for-turn.ts', find: 'caller.account}:', put: 'caller.kind}:' }],
  },
  {
    name: 'crlf-never-ends',
    says: 'frames that end with CRLF are not cut',
    caughtBy: ['src/wire/sse/split-frames.test.ts'],
    replacements: [
      {
        file: 'src/wire/sse/split-frames.ts',
        find: `    if (next === CR && bytes[at + 2] === LF) return at + 3\n`,
        put: '',
      },
    ],
  },
  {
    name: 'cache-writes-are-free',
    says: 'what was written into a cache is not counted',
    caughtBy: ['src/wire/anthropic/read-usage.test.ts'],
    replacements: [{ file: 'src/wire/anthropic/read-usage.ts', find: 'cacheWrite: written }', put: 'cacheWrite: 0 }' }],
  },
  {
    name: 'long-tool-names',
    says: 'names of tools are as long as clients make them',
    caughtBy: ['src/wire/tools/tool-names.test.ts'],
    replacements: [
      { file: 'src/wire/tools/tool-names.ts', find: 'const LENGTH_MAX = 64', put: 'const LENGTH_MAX = 640' },
    ],
  },
  {
    name: 'escaped-names-are-others',
    says: 'a field whose name is written in escapes is not recognised',
    caughtBy: ['src/wire/json/json-properties.test.ts'],
    replacements: [{ file: 'src/wire/json/scan-json.ts', find: 'escaped ? decodeName(raw) : raw', put: 'raw' }],
  },
  {
    name: 'refusal-quotes-count',
    says: 'our bill with a provider is told as the mistake of the client',
    caughtBy: ['src/wire/refusals/classify-refusal.test.ts'],
    replacements: [
      {
        file: 'src/wire/refusals/classify-refusal.ts',
        find: `  { means: 'credential', status: [401, 402, 403, 407] },\n`,
        put: '',
      },
    ],
  },
  {
    name: 'usage-chunk-passes',
    says: 'the usage chunk of the provider goes to the client too',
    caughtBy: ['src/wire/chat/tap.test.ts'],
    replacements: [
      {
        file: 'src/wire/chat/tap.ts',
        find: 'if (choices.length === 0) return NOTHING',
        put: 'if (choices.length === 0) return { bytes: frame, isContent: false }',
      },
    ],
  },
  {
    name: 'no-role-is-mended',
    says: 'a stream that never says its role stays so',
    caughtBy: ['src/wire/chat/tap.test.ts', 'src/wire/chat/stream-oddities.test.ts'],
    replacements: [
      { file: 'src/wire/chat/mend-chunk.ts', find: `!state.spoken && delta.role !== 'assistant'`, put: 'false' },
    ],
  },
  {
    name: 'two-idempotency-keys',
    says: 'a repeated Idempotency-Key is taken',
    caughtBy: ['src/http/routes.test.ts'],
    replacements: [{ file: 'src/http/door/guard-request.ts', find: `  'idempotency-key',\n`, put: '' }],
  },
  {
    name: 'two-framings',
    says: 'a Transfer-Encoding beside chunked is believed',
    caughtBy: ['src/http/socket/bare-answers.test.ts'],
    replacements: [
      {
        file: 'src/http/door/guard-request.ts',
        find: `coding === undefined || coding.toLowerCase() === 'chunked'`,
        put: `coding === undefined || coding.toLowerCase().includes('chunked')`,
      },
    ],
  },
  {
    name: 'invented-address',
    says: 'the address that a client has invented in X-Forwarded-For is believed',
    caughtBy: ['src/http/socket/client-address.test.ts'],
    replacements: [{ file: 'src/http/socket/client-address.ts', find: 'named.pop()', put: 'named.shift()' }],
  },
  {
    name: 'not-utf8',
    says: 'a body that is not UTF-8 is read',
    caughtBy: ['src/http/body/read-body.test.ts'],
    replacements: [{ file: 'src/http/body/read-body.ts', find: '!isUtf8(bytes)', put: 'false' }],
  },
  {
    name: 'bombs',
    says: 'a body may expand to anything',
    caughtBy: ['src/http/body/read-body.test.ts'],
    replacements: [
      {
        file: 'src/http/body/collect-body.ts',
        find: 'bytes <= UNSUSPICIOUS_BYTES || bytes <= rawBytes * bounds.expansionRatioMax',
        put: 'true',
      },
    ],
  },
  {
    name: 'late-head',
    says: 'after its head a stream is refused with a status',
    caughtBy: ['src/http/answer/sinks.test.ts'],
    replacements: [
      {
        file: 'src/http/answer/sse-sink.ts',
        find: `if (sink.phase !== 'quiet') throw`,
        put: `if (sink.phase === 'ended') throw`,
      },
    ],
  },
  {
    name: 'silence-is-kept',
    says: 'nothing breaks the silence of a model that thinks',
    caughtBy: ['src/http/answer/sinks.test.ts'],
    replacements: [{ file: 'src/http/answer/sse-sink.ts', find: 'send(breakSilence() ?? KEEP_ALIVE)', put: '' }],
  },
  {
    name: 'cached-for-ever',
    says: 'a key that was revoked while it was looked up lives on',
    caughtBy: ['src/keys/find-caller.test.ts'],
    replacements: [{ file: 'src/keys/find-caller.ts', find: 'if (changes === changesBefore) {', put: '{' }],
  },
  {
    name: 'everybody-operates',
    says: 'whoever is signed in may do what operators may',
    caughtBy: ['src/http/console/judge-asker.test.ts'],
    replacements: [
      {
        file: 'src/http/console/judge-asker.ts',
        find: `return judged.asking.session.person.role === 'operator' ? judged : OPERATORS_ONLY`,
        put: 'return judged',
      },
    ],
  },
  {
    name: 'confirmed-for-ever',
    says: 'a password that was given once holds for ever',
    caughtBy: ['src/http/console/judge-asker.test.ts'],
    replacements: [
      {
        file: 'src/http/console/judge-asker.ts',
        find: 'session.confirmedAt + CONFIRMED_MS > now',
        put: 'session.confirmedAt > 0',
      },
    ],
  },
  {
    name: 'any-csrf-token',
    says: 'a page without the token of the session may change things',
    caughtBy: ['src/http/console/same-site.test.ts'],
    replacements: [
      {
        file: 'src/http/console/same-site.ts',
        find: 'return a.length === b.length && timingSafeEqual(a, b)',
        put: 'return a.length === b.length || timingSafeEqual(a, a)',
      },
    ],
  },
  {
    name: 'requests-of-others',
    says: 'whoever knows the id of a request sees it',
    caughtBy: ['src/account/requests/list-requests.test.ts'],
    replacements: [
      {
        file: 'src/account/requests/show-request.ts',
        find: 'receipt?.account === account',
        put: 'receipt !== undefined',
      },
    ],
  },
  {
    name: 'suspended-acts',
    says: 'an account that is suspended may change things',
    caughtBy: ['src/http/console/judge-asker.test.ts'],
    replacements: [
      {
        file: 'src/http/console/judge-asker.ts',
        find: `asking.changes && account.status !== 'active'`,
        put: `asking.changes && account.status === 'closed'`,
      },
    ],
  },
  {
    name: 'wider-without-password',
    says: 'a key gets a longer life without a password',
    caughtBy: ['src/account/keys/change-key.test.ts'],
    replacements: [
      { file: 'src/account/keys/widens-key.ts', find: `    isMore(key.expires_at, change.expires_at) ||\n`, put: '' },
    ],
  },
  {
    name: 'foreign-host',
    says: 'the console answers under a foreign name',
    caughtBy: ['src/http/console/site.test.ts'],
    replacements: [
      {
        file: 'src/http/console/site.ts',
        find: 'if (isAddress(name) || options.hosts.includes(name)) {',
        put: 'if (name.length > 0) {',
      },
    ],
  },
  {
    name: 'envelope-of-another',
    says: 'an envelope opens for every account',
    caughtBy: ['src/seals/create-seals.test.ts'],
    replacements: [
      {
        file: 'src/seals/create-seals.ts',
        find: 'purpose: SealPurpose, owner: AccountId): string =>',
        put: `purpose: SealPurpose, _: AccountId, owner = ''): string =>`,
      },
    ],
  },
  {
    name: 'damaged-is-given',
    says: 'a kept answer that cannot be opened is given as it lies there',
    caughtBy: ['src/content/kept-answers.test.ts'],
    replacements: [
      {
        file: 'src/content/kept-answers.ts',
        find: '(await openBytes(keyFor(key, requestId), requestId, sealed))',
        put: '((await openBytes(keyFor(key, requestId), requestId, sealed)) ?? sealed)',
      },
    ],
  },
  {
    name: 'expired-is-shown',
    says: 'a deleted or expired response is still shown',
    caughtBy: ['src/content/stored-responses.test.ts'],
    replacements: [
      {
        file: 'src/content/response-rows.ts',
        find: `account = ? AND id = ? AND expires_at > ?'\n  const [row] = await file.all(sql, [account, id, now])`,
        put: `account = ? AND id = ?'\n  const [row] = await file.all(sql, [account, id])`,
      },
    ],
  },
  {
    name: 'salt-for-all',
    says: 'accounts share the salt of their prompts',
    caughtBy: ['src/seals/cache-salts.test.ts'],
    replacements: [{ file: 'src/seals/cache-salts.ts', find: '.update(account)', put: `.update('')` }],
  },
  {
    name: 'paths-share-keys',
    says: 'an idempotency key of one endpoint is that of another',
    caughtBy: ['src/idempotency/request-digests.test.ts'],
    replacements: [
      {
        file: 'src/idempotency/request-digests.ts',
        find: 'scopeOf: ({ key, method, path, idempotencyKey }) =>',
        put: `scopeOf: ({ key, method, idempotencyKey }, path = '') =>`,
      },
    ],
  },
  {
    name: 'first-slice-is-all',
    says: 'of a long body only the beginning is compared',
    caughtBy: ['src/idempotency/request-digests.test.ts'],
    replacements: [
      {
        file: 'src/idempotency/request-digests.ts',
        find: `        if (at > 0) await immediate()\n`,
        put: `        if (at > 0) break\n`,
      },
    ],
  },
  {
    name: 'quotes-are-letters',
    says: 'a key in quotes is another one than the bare key',
    caughtBy: ['src/idempotency/read-idempotency-key.test.ts'],
    replacements: [
      {
        file: 'src/idempotency/read-idempotency-key.ts',
        find: `text.startsWith('"') ? QUOTED`,
        put: `text.startsWith('""') ? QUOTED`,
      },
    ],
  },
  {
    name: 'answers-of-others',
    says: 'a kept answer is given to another account',
    caughtBy: ['src/content/kept-answers.test.ts'],
    replacements: [{ file: 'src/content/kept-answers.ts', find: ' || head.account !== account', put: '' }],
  },
  {
    name: 'reasoning-is-cut',
    says: 'a provider that may be reasoning unseen is cut when the client goes',
    caughtBy: ['src/turn/turn-stop.test.ts'],
    replacements: [
      {
        file: 'src/turn/turn-stop.ts',
        find: `dialect.hidesReasoning && mayReason(asked.model, asked.effort) ? 'drain' : 'cut'`,
        put: `'cut'`,
      },
    ],
  },
  {
    name: 'cancel-costs',
    says: 'a hang-up before the provider has accepted the request costs',
    caughtBy: ['src/turn/end/resolve-ending.test.ts'],
    replacements: [
      { file: 'src/turn/end/resolve-ending.ts', find: `if (!fate.accepted) return free(outcome)\n`, put: '' },
    ],
  },
  {
    name: 'endless-drains',
    says: 'any number of answers is read on without their clients',
    caughtBy: ['src/turn/turn-stop.test.ts'],
    replacements: [
      { file: 'src/turn/drains.ts', find: `      if (running >= bounds.atOnceMax) return undefined\n`, put: '' },
    ],
  },
  {
    name: 'output-is-forgotten',
    says: 'words that were copied without parsing count for nothing',
    caughtBy: ['src/wire/chat/alike-frames.test.ts'],
    replacements: [{ file: 'src/wire/chat/tap.ts', find: `      heard.outputBytes += alike.words\n`, put: '' }],
  },
  {
    name: 'clocks-never-change',
    says: 'the day of a change of clocks begins an hour off',
    caughtBy: ['src/account/usage/day-range.test.ts'],
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
    caughtBy: ['src/account/usage/day-range.test.ts'],
    replacements: [
      {
        file: 'src/account/usage/day-range.ts',
        find: 'Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== day',
        put: 'Number.isNaN(at)',
      },
    ],
  },
  {
    name: 'trail-without-order',
    says: 'a row that was taken out of the audit trail is not missed',
    caughtBy: ['src/account/trail/verify-audit.test.ts'],
    replacements: [
      {
        file: 'src/account/trail/verify-audit.ts',
        find: `  row.seq === before.seq + 1 &&\n  Buffer.from(row.prev_hash).equals(before.hash) &&\n`,
        put: '',
      },
    ],
  },
  {
    name: 'act-apart-from-its-line',
    says: 'an act and its line in the trail are two steps',
    caughtBy: ['src/account/trail/trail.test.ts'],
    replacements: [
      {
        file: 'src/account/trail/audit-trail.ts',
        find: 'await file.atomic([...alongside, auditInsert(row)])',
        put: `await file.atomic(alongside)\n        await file.atomic([auditInsert(row)])`,
      },
    ],
  },
  {
    name: 'tries-are-free',
    says: 'wrong passwords are not counted for a name',
    caughtBy: ['src/account/people/sign-in-tries.test.ts'],
    replacements: [
      {
        file: 'src/account/people/sign-in-tries.ts',
        find: `return taken?.kind === 'locked' ? taken : names.take(digest(name))`,
        put: 'return taken ?? names.take(digest(name))',
      },
    ],
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
    caughtBy: ['src/upstream/guard-address.test.ts'],
    replacements: [
      {
        file: 'src/upstream/guard-address.ts',
        find: `if (metadata.check(bare, family)) return 'serves`,
        put: `if (metadata.check(bare, family)) return rules.allowPrivate ? undefined : 'serves`,
      },
    ],
  },
]
