import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { AnswerOf } from '../../src/contract/console-api.ts'
import { pagedQueryFor, queryFor } from './query.ts'

export type Notice = AnswerOf<'GET /notices'>['items'][number]
export type Webhook = AnswerOf<'GET /webhooks'>['items'][number]
export type Delivery = AnswerOf<'GET /webhooks/:webhook/deliveries'>['items'][number]

/** Of an account, or of operators. */
export type WebhookScope = 'account' | 'operators'

export const useNotices = () =>
  useInfiniteQuery({ ...pagedQueryFor('GET /notices', { query: { limit: 50 } }), refetchInterval: 30_000 })

export const useNoticePreferences = () => useQuery(queryFor('GET /notices/preferences', {}))

export const useNoticeSettings = () => useQuery(queryFor('GET /notices/settings', {}))

export function useWebhooks(scope: WebhookScope) {
  const account = useQuery({ ...queryFor('GET /webhooks', {}), enabled: scope === 'account' })
  const operators = useQuery({ ...queryFor('GET /operate/webhooks', {}), enabled: scope === 'operators' })
  return scope === 'account' ? account : operators
}

export function useDeliveries(scope: WebhookScope, webhook: string) {
  const options = { params: { webhook }, query: { limit: 20 } }
  const often = { refetchInterval: 3000 }
  const account = useInfiniteQuery({
    ...pagedQueryFor('GET /webhooks/:webhook/deliveries', options),
    ...often,
    enabled: scope === 'account',
  })
  const operators = useInfiniteQuery({
    ...pagedQueryFor('GET /operate/webhooks/:webhook/deliveries', options),
    ...often,
    enabled: scope === 'operators',
  })
  return scope === 'account' ? account : operators
}
