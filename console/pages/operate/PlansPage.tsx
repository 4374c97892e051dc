import { Link } from '@tanstack/react-router'
import { CreditCard, Plus } from 'lucide-react'
import type { AnswerOf } from '../../../src/contract/console-api.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { usePlans } from '../../queries/operate.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { Badge, Empty, Facts, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Money } from '../../ui/values.tsx'

type Plan = AnswerOf<'GET /operate/plans'>['items'][number]

export function PlansPage() {
  const { shell } = useMessages()
  const { plans } = useMessages().operator
  const query = usePlans()
  const add = (
    <Link to="/operate/managed" search={{ add: 'plan' }} className={buttonClass('primary')}>
      <Plus aria-hidden="true" />
      {plans.add}
    </Link>
  )
  return (
    <Page>
      <PageHeader title={shell.pageTitles.plans} about={plans.about} actions={add} />
      {query.data === undefined || query.data.items.length === 0 ? (
        <Panel>
          <QueryView query={query}>
            {() => <Empty icon={CreditCard} title={plans.none} text={plans.noneText} />}
          </QueryView>
        </Panel>
      ) : (
        query.data.items.map((plan) => <PlanPanel key={plan.id} plan={plan} />)
      )}
    </Page>
  )
}

function PlanPanel({ plan: { id, models, opens, windows, accounts } }: { plan: Plan }) {
  const { plans } = useMessages().operator
  const formats = useFormats()
  return (
    <Panel
      title={id}
      actions={
        <Link to="/operate/accounts" className="text-sm text-soft hover:text-ink hover:underline">
          {formats.plural(accounts, plans.accounts)}
        </Link>
      }
    >
      <div className="grid grid-cols-1 gap-x-10 gap-y-5 md:grid-cols-[14rem_minmax(0,1fr)]">
        <section className="grid content-start gap-2">
          <h3 className="eyebrow">{plans.windows}</h3>
          <Facts
            facts={windows.map(({ name, allowance }) => ({
              name: formats.window(name),
              value: <Money amount={allowance} />,
            }))}
          />
        </section>
        <section className="grid content-start gap-2">
          <h3 className="eyebrow">{plans.opens}</h3>
          {opens.length === 0 ? <p className="text-held">{plans.opensNone}</p> : <Opens ids={opens} />}
          <p className="text-xs break-words text-faint">
            {plans.patterns} <code>{models.join(', ')}</code>
          </p>
        </section>
      </div>
    </Panel>
  )
}

/** The number of models shown before the fold. */
const SHOWN = 12

function Opens({ ids }: { ids: readonly string[] }) {
  const { plans } = useMessages().operator
  const formats = useFormats()
  const rest = ids.slice(SHOWN)
  return (
    <div className="grid gap-2">
      <Names ids={ids.slice(0, SHOWN)} />
      {rest.length > 0 && (
        <details>
          <summary className="text-sm text-soft hover:text-ink">{plans.more(formats.count(rest.length))}</summary>
          <div className="pt-2">
            <Names ids={rest} />
          </div>
        </details>
      )}
    </div>
  )
}

const Names = ({ ids }: { ids: readonly string[] }) => (
  <ul className="flex flex-wrap gap-1.5">
    {ids.map((id) => (
      <li key={id} className="max-w-full">
        <Badge>
          <span className="min-w-0 truncate">{id}</span>
        </Badge>
      </li>
    ))}
  </ul>
)
