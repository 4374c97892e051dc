import { Link } from '@tanstack/react-router'
import { Panel } from '../../ui/Panel.tsx'
import { useWords } from '../../words/WordsProvider.tsx'

export function PlanModels({ models }: { models: readonly string[] }) {
  const { plan } = useWords()
  return (
    <Panel title={plan.models} about={plan.modelsAbout}>
      {models.length === 0 ? (
        <p className="text-soft">{plan.noModels}</p>
      ) : (
        <ul className="flex flex-wrap gap-1.5">
          {models.map((model) => (
            <li key={model} className="min-w-0">
              <Link
                to="/models"
                search={{ search: model }}
                className="inline-flex min-h-7 items-center rounded-md bg-sunken px-2 hover:bg-hover hover:text-accent"
              >
                <code className="wrap-anywhere">{model}</code>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
