import { useEffect } from 'preact/hooks'

/** Names the browser's tab after what the view shows. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Corral`
  }, [title])
}
