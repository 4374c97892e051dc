import { useMessages } from '../../messages/MessagesProvider.tsx'
import { Scrolled } from '../Scrolled.tsx'
import type { ChartData } from './series.ts'

/** The same numbers as a table, for whoever reads rather than looks. */
export function ChartTable({ data }: { data: ChartData }) {
  const { charts } = useMessages()
  const numbers = 'px-3 py-1.5 text-end figures whitespace-nowrap'
  return (
    <Scrolled label={data.caption} className="max-h-80 overflow-auto rounded-lg border border-line">
      <table className="w-full text-sm">
        <caption className="sr-only">{data.caption}</caption>
        <thead className="sticky top-0 bg-sunken text-xs text-faint">
          <tr>
            <th scope="col" className="px-3 py-1.5 text-start font-medium">
              {charts.when}
            </th>
            {data.series.map(({ id, name }) => (
              <th key={id} scope="col" className="px-3 py-1.5 text-end font-medium">
                {name}
              </th>
            ))}
            {data.totals !== undefined && (
              <th scope="col" className="px-3 py-1.5 text-end font-medium">
                {charts.total}
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {data.steps.map((step, index) => (
            <tr key={step.id} className="border-t border-line">
              <th scope="row" className="px-3 py-1.5 text-start font-normal whitespace-nowrap">
                {step.long}
              </th>
              {data.series.map(({ id, texts }) => (
                <td key={id} className={numbers}>
                  {texts[index]}
                </td>
              ))}
              {data.totals !== undefined && <td className={numbers}>{data.totals[index]}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  )
}
