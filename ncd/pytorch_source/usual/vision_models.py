"""Residual networks of torchvision, of which many sources take the first layers, as a source."""

from __future__ import annotations

MODELS = """
class BasicBlock(nn.Module):
    expansion = 1
    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample
    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))

class Bottleneck(nn.Module):
    expansion = 4
    def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64):
        super().__init__()
        width = int(planes * (base_width / 64)) * groups
        self.conv1 = nn.Conv2d(inplanes, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, groups=groups, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, planes * 4, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * 4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
    def forward(self, x):
        out = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        out = self.bn3(self.conv3(out))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))

class ResNet(nn.Module):
    def __init__(self, block, layers, num_classes=1000, groups=1, width_per_group=64, **named):
        super().__init__()
        self.inplanes, self.groups, self.base_width = 64, groups, width_per_group
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2)
        self.layer3 = self._make_layer(block, 256, layers[2], 2)
        self.layer4 = self._make_layer(block, 512, layers[3], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
    def _make_layer(self, block, planes, blocks, stride=1):
        wide, downsample = planes * block.expansion, None
        if stride != 1 or self.inplanes != wide:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, wide, 1, stride, bias=False), nn.BatchNorm2d(wide))
        more = (self.groups, self.base_width)
        layers = [block(self.inplanes, planes, stride, downsample, *more)]
        self.inplanes = wide
        layers += [block(wide, planes, 1, None, *more) for _ in range(1, blocks)]
        return nn.Sequential(*layers)
    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))

def resnet18(*args, num_classes=1000, **named):
    return ResNet(BasicBlock, [2, 2, 2, 2], num_classes)

def resnet34(*args, num_classes=1000, **named):
    return ResNet(BasicBlock, [3, 4, 6, 3], num_classes)

def resnet50(*args, num_classes=1000, **named):
    return ResNet(Bottleneck, [3, 4, 6, 3], num_classes)

def resnet101(*args, num_classes=1000, **named):
    return ResNet(Bottleneck, [3, 4, 23, 3], num_classes)

def resnet152(*args, num_classes=1000, **named):
    return ResNet(Bottleneck, [3, 8, 36, 3], num_classes)

def wide_resnet50_2(*args, num_classes=1000, **named):
    return ResNet(Bottleneck, [3, 4, 6, 3], num_classes, 1, 128)

def resnext50_32x4d(*args, num_classes=1000, **named):
    return ResNet(Bottleneck, [3, 4, 6, 3], num_classes, 32, 4)
"""
