// A panel shows what its last run has sent, or what came since for a size that moves. A run that
// does not know the newest size yet changes nothing.

// Shows data of a run, and from then on what comes for a move.
export function followMoves(host, data, show) {
  Object.assign(host, { sentByRun: data, showData: show });
  if (!host.followsMoves) {
    host.followsMoves = true;
    const moved = () => host.showData(movedData(host) ?? host.sentByRun);
    document.addEventListener("ncd-moved", moved);
    const { end } = host;
    host.end = () => (document.removeEventListener("ncd-moved", moved), end());
  }
  show((document.ncdDiagram?.want && movedData(host)) || data);
}

const movedData = ({ sentByRun }) => document.ncdMoved?.[sentByRun.part];
