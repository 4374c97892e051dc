import { useState } from 'react'
import { OPENAPI_ADDRESS } from '../../lib/api-client.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useOpenApi } from '../../queries/account.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { CodeBlock } from '../../ui/CopyButton.tsx'
import { SearchInput } from '../../ui/inputs.tsx'
import { Badge, Page, PageHeader, Panel, Scrolled } from '../../ui/layout.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { type ApiOperation, readOpenApi, type SchemaField } from './read-openapi.ts'

/** The routes of the server, as its openapi.json describes them. */
export function ReferencePage() {
  const { shell, connect } = useMessages()
  const { reference: messages } = connect
  const formats = useFormats()
  const query = useOpenApi()
  const [search, setSearch] = useState('')
  return (
    <Page>
      <PageHeader
        title={shell.pageTitles.reference}
        about={messages.about}
        actions={
          <a href={OPENAPI_ADDRESS} target="_blank" rel="noreferrer" className={buttonClass()}>
            {messages.download}
          </a>
        }
      />
      <QueryView query={query} lines={12}>
        {(document) => {
          const found = findOperations(readOpenApi(document), search)
          return (
            <>
              <search className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
                <SearchInput label={messages.search} className="w-full sm:w-80" value={search} onText={setSearch} />
                <span className="figures text-sm text-faint" aria-live="polite">
                  {formats.plural(found.length, messages.count)}
                </span>
              </search>
              <Panel padding="flush">
                {found.length === 0 ? (
                  <p className="py-10 text-center text-soft">{messages.nothing}</p>
                ) : (
                  <ul className="divide-y divide-line">
                    {found.map((operation) => (
                      <li key={`${operation.method} ${operation.path}`}>
                        <OperationView operation={operation} />
                      </li>
                    ))}
                  </ul>
                )}
              </Panel>
            </>
          )
        }}
      </QueryView>
    </Page>
  )
}

function findOperations(operations: readonly ApiOperation[], search: string): readonly ApiOperation[] {
  const terms = search.toLowerCase().split(/\s+/).filter(Boolean)
  return operations.filter(({ method, path, summary }) => {
    const words = `${method} ${path} ${summary}`.toLowerCase()
    return terms.every((term) => words.includes(term))
  })
}

/** Its details are made when it is opened: a hundred routes have thousands of fields. */
function OperationView({ operation }: { operation: ApiOperation }) {
  const [open, setOpen] = useState(false)
  const { method, path, summary } = operation
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2 hover:bg-hover">
        <span className="w-16 shrink-0">
          <Badge tone={method === 'GET' ? 'plain' : method === 'DELETE' ? 'bad' : 'accent'}>{method}</Badge>
        </span>
        <code className="min-w-0 font-medium wrap-anywhere">{path}</code>
        <span className="min-w-0 text-soft">{summary}</span>
      </summary>
      {open && <Details operation={operation} />}
    </details>
  )
}

function Details({ operation: { description, parameters, body, example, answers } }: { operation: ApiOperation }) {
  const { reference: messages } = useMessages().connect
  return (
    <div className="grid grid-cols-1 gap-4 bg-sunken/50 px-4 py-3">
      {description !== '' && <p className="max-w-prose text-soft">{description}</p>}
      <Fields title={messages.parameters} fields={parameters} />
      <Fields title={messages.body} fields={body} />
      {example !== undefined && <CodeBlock label={messages.example} code={example} />}
      {answers.map(({ status, description: meaning, fields }) => (
        <div key={status} className="grid grid-cols-1 gap-1">
          <Fields title={`${messages.answers}: ${status}`} about={meaning} fields={fields} isShown />
        </div>
      ))}
    </div>
  )
}

interface FieldsProps {
  readonly title: string
  readonly about?: string
  readonly fields: readonly SchemaField[]
  /** Also without fields. */
  readonly isShown?: boolean
}

function Fields({ title, about, fields, isShown = false }: FieldsProps) {
  const { reference: messages } = useMessages().connect
  if (fields.length === 0 && !isShown) return null
  return (
    <section className="grid grid-cols-1 gap-1.5" aria-label={title}>
      <h2 className="font-semibold">{title}</h2>
      {about !== undefined && <p className="text-sm text-soft">{about}</p>}
      {fields.length > 0 && (
        <Scrolled label={title} className="max-h-96 overflow-auto rounded-lg border border-line bg-surface">
          <table className="w-full text-sm">
            <thead>
              <tr className="text-faint">
                {[messages.field, messages.type, messages.meaning].map((name) => (
                  <th key={name} scope="col" className="px-3 py-1.5 text-start font-medium">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {fields.map(({ name, type, required, description }) => (
                <tr key={name} className="border-t border-line align-top">
                  <td className="px-3 py-1.5">
                    <code className="break-all">{name}</code>
                    {required && <span className="block text-xs text-faint">{messages.required}</span>}
                  </td>
                  <td className="max-w-60 px-3 py-1.5 break-words text-soft">{type}</td>
                  <td className="px-3 py-1.5 text-soft">{description}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolled>
      )}
    </section>
  )
}
