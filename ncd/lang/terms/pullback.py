"""The gradient of an op: its pullback, or the ops that it is written out in."""

from __future__ import annotations

from ncd.lang.errors import MismatchError
from ncd.lang.terms.site import Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter


class Differentiable:
    """The base of ops: each has a pullback, or is written out in ops that have one."""

    @property
    def label(self) -> str:
        """Its name in words."""
        return type(self).__name__

    def written_out(self, site: Site, steps: StepWriter, ins: Slots) -> tuple[Slot, ...] | None:
        """Returns its outputs in ops that have a pullback, with its weights as arrays.

        Returns None for an op that has a pullback itself.
        """
        return None

    def pullback(
        self, site: Site, steps: StepWriter, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[Slot | None, ...]:
        """Returns the gradient of each input from those of the outputs; None if there is none.

        Args:
            site: The op at its place.
            steps: Takes the steps of the backward pass.
            ins: The inputs of the forward pass.
            outs: Its outputs.
            grads: The gradient of each output.

        Raises:
            MismatchError: For an op without a gradient, with the reason.
        """
        raise MismatchError(
            f"{self.label} has no gradient as a term",
            cure="a term without it, or torch.autograd",
        )
