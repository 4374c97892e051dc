import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { AttemptsPanel } from './detail/AttemptsPanel.tsx'
import { ChargePanel } from './detail/ChargePanel.tsx'
import { FactsPanel } from './detail/FactsPanel.tsx'
import { PayerPanel } from './detail/PayerPanel.tsx'
import { RequestNotes, RequestSummary } from './detail/RequestSummary.tsx'
import { TokensPanel } from './detail/TokensPanel.tsx'

export type RequestDetail = AnswerOf<'GET /requests/:request'>

/** Whose it is decides where its parts lead: the key and the wallet of somebody else are on no page of ours. */
export type Whose = 'own' | 'of-another'

/** All that there is to know about one request. */
export function RequestDetailView({ request, whose = 'own' }: { request: RequestDetail; whose?: Whose }) {
  return (
    <div className="grid gap-5">
      <RequestSummary request={request} />
      <RequestNotes request={request} />
      <AttemptsPanel request={request} />
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <div className="grid gap-5">
          <ChargePanel request={request} />
          <TokensPanel request={request} />
        </div>
        <div className="grid gap-5">
          <PayerPanel request={request} whose={whose} />
          <FactsPanel request={request} whose={whose} />
        </div>
      </div>
    </div>
  )
}
