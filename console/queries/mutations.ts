import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import type { AnswerOf, QueryOf } from '../../src/contract/console-api.ts'
import type { ParamsOf } from '../../src/contract/values.ts'
import {
  type DownloadName,
  fetchFile,
  type MutationInput,
  type MutationName,
  type QueryName,
  runMutation,
} from '../lib/api-client.ts'
import { asProblem, type ConsoleProblem, wasCancelled } from '../lib/console-problem.ts'
import { toast } from '../ui/toast.ts'

interface ApiMutationOptions<Name extends MutationName> {
  /** Toast after success. */
  readonly done?: string | undefined
  readonly onDone?: ((answer: AnswerOf<Name>) => void) | undefined
  /** A form shows its own problem. Everything else shows it in a toast. */
  readonly problem?: 'toast' | 'shown-here'
}

/** Runs a mutation, invalidates its queries and shows a toast. */
export function useApiMutation<Name extends MutationName>(
  name: Name,
  { done, onDone, problem: shown = 'toast' }: ApiMutationOptions<Name> = {},
): UseMutationResult<AnswerOf<Name>, ConsoleProblem, MutationInput<Name>> {
  const invalidate = useInvalidate(name)
  return useMutation({
    mutationFn: (options: MutationInput<Name>) => runMutation(name, options).catch(rethrown),
    onSuccess: (answer) => {
      invalidate()
      if (done !== undefined) toast({ tone: 'good', text: done })
      onDone?.(answer)
    },
    onError: (problem) => {
      if (shown === 'toast' && !wasCancelled(problem)) toast({ tone: 'bad', problem })
    },
  })
}

export type SecretMutation<Name extends MutationName> = UseMutationResult<void, ConsoleProblem, MutationInput<Name>>

/**
 * A mutation whose response contains a secret that is shown once. The response goes only to `onMade`: data and
 * variables of a mutation would stay in the cache, where any part of the page could read them.
 */
export function useSecretMutation<Name extends MutationName>(
  name: Name,
  onMade: (answer: AnswerOf<Name>) => void,
): SecretMutation<Name> {
  const invalidate = useInvalidate(name)
  return useMutation({
    gcTime: 0,
    mutationFn: async (options: MutationInput<Name>) => {
      // Do not return the result of onMade, which could be the secret.
      onMade(await runMutation(name, options).catch(rethrown))
    },
    onSuccess: invalidate,
  })
}

export function useInvalidate(done: MutationName | 'turn'): () => void {
  const client = useQueryClient()
  return () => {
    for (const query of queriesInvalidatedBy(done)) void client.invalidateQueries({ queryKey: [query] })
  }
}

const rethrown = (error: unknown): never => {
  throw asProblem(error)
}

const KEYS = ['GET /keys', 'GET /keys/:key', 'GET /overview'] as const
const NOTICES = ['GET /notices', 'GET /notices/unread'] as const
const FACTORS = ['GET /factors', 'GET /session'] as const
const TEAMS = ['GET /teams', 'GET /teams/:team', 'GET /members/:person', 'GET /keys/:key'] as const
const PEOPLE = ['GET /members/:person', 'GET /overview', 'GET /keys/:key'] as const
const ACCOUNTS = ['GET /operate/accounts', 'GET /operate/accounts/:account'] as const

/**
 * The queries that each mutation invalidates. Sign-in, sign-up and sign-out replace the session and clear everything
 * else.
 */
const INVALIDATED_QUERIES: Readonly<Record<MutationName, readonly QueryName[]>> = {
  'POST /session': [],
  'DELETE /session': [],
  'POST /invitation': [],
  'POST /sign-up': [],
  'POST /session/challenge': [],
  'POST /session/passkey': [],
  'POST /session/factor': ['GET /session'],
  'POST /session/confirm': ['GET /session'],
  'POST /session/confirm/challenge': [],
  'POST /session/confirm/passkey': ['GET /session'],
  'PUT /password': ['GET /session', 'GET /sessions'],
  'DELETE /sessions/:session': ['GET /sessions'],
  'POST /factors/totp': [],
  'POST /factors/totp/confirm': FACTORS,
  'POST /factors/totp/remove': FACTORS,
  'POST /factors/recovery-codes': FACTORS,
  'POST /passkeys/challenge': [],
  'POST /passkeys': FACTORS,
  'PATCH /passkeys/:passkey': FACTORS,
  'POST /passkeys/:passkey/remove': FACTORS,

  'POST /keys': [...KEYS, ...TEAMS],
  'PATCH /keys/:key': KEYS,
  'POST /keys/:key/rotate': KEYS,
  'POST /keys/:key/revoke': KEYS,
  'POST /keys/:key/raise': [...KEYS, ...TEAMS],
  'PATCH /new-key-caps': ['GET /new-key-caps'],
  'POST /teams': TEAMS,
  'PATCH /teams/:team': TEAMS,
  'POST /teams/:team/raise': TEAMS,
  'POST /wallet/redeem': ['GET /wallet', 'GET /wallet/statement', 'GET /overview'],
  'POST /wallet/ask': ['GET /wallet'],
  'POST /card/top-up': ['GET /payments'],
  'PUT /card/automatic': ['GET /card'],
  'DELETE /card': ['GET /card'],
  'POST /plans/buy': ['GET /payments'],
  'PUT /plans/:purchase/renewal': ['GET /plans/sold', 'GET /plan'],

  'PUT /second-factor': ['GET /second-factor', 'GET /session'],
  'POST /members/invite': [],
  'PATCH /members/:person': ['GET /members', 'GET /session'],
  'POST /members/:person/remove': ['GET /members', 'GET /members/:person', 'GET /keys'],
  'PATCH /members/:person/caps': PEOPLE,
  'POST /members/:person/raise': PEOPLE,

  'POST /conversations': ['GET /conversations'],
  'PUT /conversations/:conversation': ['GET /conversations'],
  'DELETE /conversations/:conversation': ['GET /conversations'],
  'POST /notices/read': NOTICES,
  'PATCH /notices/preferences': ['GET /notices/preferences'],
  'PUT /notices/settings': ['GET /notices/settings', ...NOTICES],
  'POST /webhooks': ['GET /webhooks'],
  'PATCH /webhooks/:webhook': ['GET /webhooks'],
  'POST /webhooks/:webhook/rotate': ['GET /webhooks'],
  'DELETE /webhooks/:webhook': ['GET /webhooks'],
  'POST /webhooks/:webhook/test': ['GET /webhooks/:webhook/deliveries'],
  'POST /webhooks/:webhook/deliveries/:delivery/resend': ['GET /webhooks/:webhook/deliveries'],
  'POST /operate/webhooks': ['GET /operate/webhooks'],
  'PATCH /operate/webhooks/:webhook': ['GET /operate/webhooks'],
  'POST /operate/webhooks/:webhook/rotate': ['GET /operate/webhooks'],
  'DELETE /operate/webhooks/:webhook': ['GET /operate/webhooks'],
  'POST /operate/webhooks/:webhook/test': ['GET /operate/webhooks/:webhook/deliveries'],
  'POST /operate/webhooks/:webhook/deliveries/:delivery/resend': ['GET /operate/webhooks/:webhook/deliveries'],

  'POST /operate/accounts': ACCOUNTS,
  'POST /operate/accounts/:account/credit': [...ACCOUNTS, 'GET /operate/wishes'],
  'POST /operate/accounts/:account/status': ACCOUNTS,
  'POST /operate/accounts/:account/plan': [...ACCOUNTS, 'GET /operate/plans'],
  'POST /operate/accounts/:account/invite': [],
  'POST /operate/people/:person/disable': ['GET /operate/accounts/:account'],
  'POST /operate/people/:person/enable': ['GET /operate/accounts/:account'],
  'POST /operate/people/:person/remove-factors': [],
  'POST /operate/managed': [
    'GET /operate/managed',
    'GET /operate/managed/history',
    'GET /operate/lanes',
    'GET /operate/plans',
  ],
  'POST /operate/managed/preview': [],
  'POST /operate/managed/models': [],
  'POST /operate/managed/test': [],
  'POST /operate/codes': ['GET /operate/codes'],
  'POST /operate/codes/:code/withdraw': ['GET /operate/codes'],
}

/** Every mutation within a session adds an audit entry. */
const AUDIT_QUERIES = ['GET /audit', 'GET /operate/audit'] as const

/** A playground turn spends money and adds no audit entry. Request lists refetch by themselves. */
const AFTER_A_TURN = ['GET /overview'] as const

/** Without a session the audit log would be refused. */
const SESSION_MUTATIONS: readonly MutationName[] = [
  'POST /session',
  'POST /session/challenge',
  'POST /session/passkey',
  'DELETE /session',
  'POST /invitation',
  'POST /sign-up',
]

export function queriesInvalidatedBy(done: MutationName | 'turn'): readonly QueryName[] {
  if (done === 'turn') return AFTER_A_TURN
  return SESSION_MUTATIONS.includes(done) ? INVALIDATED_QUERIES[done] : [...INVALIDATED_QUERIES[done], ...AUDIT_QUERIES]
}

/** Downloads a file and saves it. A plain link could not show why a download failed. */
export const useDownload = <Name extends DownloadName>(
  name: Name,
  ...[params]: keyof ParamsOf<Name> extends never ? [] : [params: ParamsOf<Name>]
): UseMutationResult<void, ConsoleProblem, QueryOf<Name>> =>
  useMutation({
    mutationFn: async (query: QueryOf<Name>) => {
      const file = await fetchFile(name, { query, params }).catch((error: unknown) => {
        throw asProblem(error)
      })
      saveFile(file)
    },
    onError: (problem) => toast({ tone: 'bad', problem }),
  })

/** Some browsers read the file only after the click. */
const KEPT_MS = 60_000

export function saveFile(file: File): void {
  const address = URL.createObjectURL(file)
  const link = document.createElement('a')
  Object.assign(link, { href: address, download: file.name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS)
}
