import type { TimesAhead } from '../sqlite/times-ahead.ts'

const DAY_MS = 86_400_000

/** Everything in the second file that a clock which ran ahead has written and that retention or rights depend on. */
export const CONTENT_TIMES_AHEAD: readonly TimesAhead[] = [
  {
    ...{ what: 'kept_answers', table: 'answers', key: 'rowid', columns: ['at', 'expires_at'], where: 'at > ?3' },
    mend: ({ at, expires_at: end }, { to }) => ({ at: to, expires_at: Number(end) - (Number(at) - to) }),
  },
  {
    ...{ what: 'stored_responses', table: 'responses', key: 'response', columns: ['created_at', 'expires_at'] },
    where: 'created_at > ?3',
    mend: ({ created_at: at, expires_at: end }, { to }) => ({
      created_at: to,
      // 0 is that of one that was deleted.
      expires_at: Math.max(0, Number(end) - (Number(at) - to)),
    }),
  },
  {
    // A lockout lasts minutes: one that ends more than a day ahead is of the time that is taken back.
    ...{ what: 'lockouts', table: 'lockouts', key: 'name', slicedBy: 'until', columns: ['until'] },
    where: `until > ?3 + ${DAY_MS}`,
    mend: ({ until }, { from, to }) => ({ until: Math.max(to, Number(until) - (from - to)) }),
  },
  {
    ...{ what: 'usage_series', table: 'usage_series', key: 'series', columns: ['last_at'], where: 'last_at > ?3' },
    mend: (_, { to }) => ({ last_at: to }),
  },
]
